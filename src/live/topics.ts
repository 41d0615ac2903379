import type { LiveEvent } from '../coordinator/eventBus.ts';
import { topicOfJob } from '../domain/liveProtocol.ts';

const ofWorkers = ['workers'];
const ofProviders = ['providers'];
const ofMachines = ['machines'];

/** The topics that an event belongs to. Output chunks go to those who watch the job, not to whoever watches all jobs. */
export function topicsOf(event: LiveEvent): readonly string[] {
  if ('job' in event) return ['jobs', topicOfJob(event.job.id)];
  if ('worker' in event) return ofWorkers;
  if ('provider' in event) return ofProviders;
  return event.type === 'transition' ? ofMachines : [topicOfJob(event.jobId)];
}
