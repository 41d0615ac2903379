import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { WireTransition } from '../../../domain/liveProtocol.ts';
import type { MachineCounts } from '../../../domain/machine.ts';
import type { WireWorker } from '../../../domain/wire/worker.ts';
import { feed } from '../../live/browserFeed.ts';

/**
 * Where a worker is in its machine, as a path. The API tells its status; the state inside of that is known from the
 * changes that are heard of, and before the first when all workers of this status are in the same one.
 */
export function useWorkerState({ id, status }: WireWorker): string {
  const heard = useSignal<string | null>(null);
  const counts = useSignal<Record<string, number>>({});
  useEffect(() => {
    heard.value = null;
    return feed.listen('machines', {
      snapshot(data) {
        // It may have changed while nobody listened.
        heard.value = null;
        counts.value = (data as MachineCounts).worker;
      },
      event({ type, data }) {
        if (type !== 'transition') return;
        const { machine, actor_id: actor, to } = data as WireTransition;
        if (machine === 'worker' && actor === id) heard.value = to;
      },
    });
  }, [heard, counts, id]);
  const isInside = (state: string): boolean => state.split('.')[0] === status;
  if (heard.value !== null && isInside(heard.value)) return heard.value;
  const possible = Object.keys(counts.value).filter((state) => isInside(state) && counts.value[state] !== 0);
  return possible.length === 1 ? (possible[0] ?? status) : status;
}
