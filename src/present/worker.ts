import { iso } from '../domain/wire/iso.ts';
import type { WireWorker } from '../domain/wire/worker.ts';
import type { WorkerView } from '../domain/worker.ts';

/** A worker for the API. */
export function presentWorker({
  life,
  status,
  connected,
  runningJobs,
  completed,
  failed,
  refusals,
}: WorkerView): WireWorker {
  return {
    id: life.id,
    name: life.name,
    key: life.owner === undefined ? null : { key_id: life.owner.keyId, name: life.owner.name },
    kind: life.kind,
    providers: life.providers,
    models: life.models,
    tags: life.tags,
    concurrency: life.concurrency,
    connected,
    paused: life.paused,
    status,
    running_jobs: runningJobs,
    running: runningJobs.length,
    version: life.version,
    host: life.host,
    connected_at: iso(life.connectedAt),
    last_heartbeat_at: iso(life.lastHeartbeatAt),
    completed,
    failed,
    refusals: refusals.map(({ provider, model, fault, at, until, inRow, failure }) => ({
      provider,
      model,
      fault,
      at: iso(at),
      until: iso(until),
      in_row: inRow,
      error: failure,
    })),
  };
}
