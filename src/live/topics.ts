import type { LiveEvent } from '../coordinator/core/index.ts';
import { CoordinatorError } from '../domain/errors.ts';
import type { Role } from '../domain/key.ts';
import { maySubscribe, type Topic, topicOfJob } from '../domain/liveProtocol.ts';

const ofWorkers = ['workers'];
const ofProviders = ['providers'];
const ofQueue = ['queue'];
const ofMachines = ['machines'];

/** The topics of an event. Output chunks only have the topic of their job, not the one of all jobs. */
export function topicsOf(event: LiveEvent): readonly string[] {
  if ('job' in event) return ['jobs', topicOfJob(event.job.id)];
  if ('worker' in event) return ofWorkers;
  if ('provider' in event) return ofProviders;
  if ('queue' in event) return ofQueue;
  return event.type === 'transition' ? ofMachines : [topicOfJob(event.jobId)];
}

/** @throws CoordinatorError forbidden when a topic is not for this role. */
export function assertMaySubscribe(role: Role, topics: readonly Topic[]): void {
  const hidden = topics.find((topic) => !maySubscribe(role, topic));
  if (hidden !== undefined) {
    throw new CoordinatorError(
      'forbidden',
      `A key with the role ${role} may not subscribe to the topic ${hidden}`,
    );
  }
}
