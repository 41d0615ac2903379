import type { JobView } from '../coordinator/coordinator.ts';
import type { LiveEvent } from '../coordinator/core/index.ts';
import { isTextOnly } from '../domain/chunkParts.ts';
import type { JobRecord } from '../domain/job.ts';
import type { JobProgress, WireTransition } from '../domain/liveProtocol.ts';
import type { WireJob } from '../domain/wire/job.ts';
import type { WireProvider } from '../domain/wire/provider.ts';
import type { WireQueue } from '../domain/wire/queue.ts';
import type { WireWorker } from '../domain/wire/worker.ts';
import { presentListed } from '../present/job.ts';
import { presentProvider } from '../present/provider.ts';
import { presentQueue } from '../present/queue.ts';
import { presentWorker } from '../present/worker.ts';

/** The `data` of an event. */
export function presentEvent(
  event: LiveEvent,
  view: (job: JobRecord) => JobView,
): WireJob | WireWorker | WireProvider | WireQueue | JobProgress | WireTransition {
  if ('job' in event) return presentListed(view(event.job));
  if ('worker' in event) return presentWorker(event.worker);
  if ('provider' in event) return presentProvider(event.provider);
  if ('queue' in event) return presentQueue(event.queue);
  if (event.type === 'transition') {
    const { machine, actorId, from, to, event: name } = event;
    return { machine, actor_id: actorId, from, to, event: name };
  }
  const { jobId, lease, seq, text, parts } = event;
  return isTextOnly(parts) ? { id: jobId, lease, seq, text } : { id: jobId, lease, seq, text, parts };
}
