import type { LiveEvent } from '../coordinator/eventBus.ts';
import { CoordinatorError } from '../domain/errors.ts';
import type { Role } from '../domain/key.ts';
import { mayHear, type Topic, topicOfJob } from '../domain/liveProtocol.ts';

const ofWorkers = ['workers'];
const ofProviders = ['providers'];
const ofQueue = ['queue'];
const ofMachines = ['machines'];

/** The topics that an event belongs to. Output chunks go to those who watch the job, not to whoever watches all jobs. */
export function topicsOf(event: LiveEvent): readonly string[] {
  if ('job' in event) return ['jobs', topicOfJob(event.job.id)];
  if ('worker' in event) return ofWorkers;
  if ('provider' in event) return ofProviders;
  if ('queue' in event) return ofQueue;
  return event.type === 'transition' ? ofMachines : [topicOfJob(event.jobId)];
}

/** @throws CoordinatorError forbidden when one of the topics is not for keys of this role. */
export function assertMayHear(role: Role, topics: readonly Topic[]): void {
  const hidden = topics.find((topic) => !mayHear(role, topic));
  if (hidden !== undefined) {
    throw new CoordinatorError('forbidden', `A key with the role ${role} may not hear the topic ${hidden}`);
  }
}
