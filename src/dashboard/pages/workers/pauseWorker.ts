import type { WireWorker } from '../../../domain/wire/worker.ts';
import { plural } from '../../components/text.ts';
import { notify } from '../../components/toasts.tsx';
import { api } from '../../session.ts';

type Named = Pick<WireWorker, 'id' | 'name' | 'running'>;

/** Pause a worker, and show that. @throws ApiError, Unreachable. */
export async function pauseWorker({ id, name, running }: Named): Promise<void> {
  await api.peek().pauseWorker(id);
  notify(
    running === 0
      ? `${name} is paused`
      : `${name} is paused: it finishes ${plural(running, 'job')} and takes no new ones`,
  );
}

/** Resume a worker, and show that. @throws ApiError, Unreachable. */
export async function resumeWorker({ id, name }: Named): Promise<void> {
  await api.peek().resumeWorker(id);
  notify(`${name} takes jobs again`);
}
