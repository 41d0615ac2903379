import type { WireWorker } from '../../../domain/wire/worker.ts';
import { plural } from '../../components/text.ts';
import { told } from '../../components/toasts.tsx';
import { api } from '../../session.ts';

type Named = Pick<WireWorker, 'id' | 'name' | 'running'>;

/** Give a worker no new jobs, and say so. @throws ApiError, Unreachable. */
export async function pauseWorker({ id, name, running }: Named): Promise<void> {
  await api.peek().pauseWorker(id);
  told(
    running === 0
      ? `${name} is paused`
      : `${name} is paused: it finishes ${plural(running, 'job')} and takes no new ones`,
  );
}

/** Give a worker jobs again, and say so. @throws ApiError, Unreachable. */
export async function resumeWorker({ id, name }: Named): Promise<void> {
  await api.peek().resumeWorker(id);
  told(`${name} takes jobs again`);
}
