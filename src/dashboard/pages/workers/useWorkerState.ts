import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { WireTransition } from '../../../domain/liveProtocol.ts';
import type { MachineCounts } from '../../../domain/machine.ts';
import type { WireWorker } from '../../../domain/wire/worker.ts';
import { feed } from '../../live/browserFeed.ts';

/**
 * The path of a worker's state in its machine. The API reports its status; the state within that is known from observed
 * changes, and before the first one when all workers with this status are in the same state.
 */
export function useWorkerState({ id, status }: WireWorker): string {
  const observed = useSignal<string | null>(null);
  const counts = useSignal<Record<string, number>>({});
  useEffect(() => {
    observed.value = null;
    return feed.listen('machines', {
      snapshot(data) {
        // It may have changed while there was no connection.
        observed.value = null;
        counts.value = (data as MachineCounts).worker;
      },
      event({ type, data }) {
        if (type !== 'transition') return;
        const { machine, actor_id: actor, to } = data as WireTransition;
        if (machine === 'worker' && actor === id) observed.value = to;
      },
    });
  }, [observed, counts, id]);
  const isInside = (state: string): boolean => state.split('.')[0] === status;
  if (observed.value !== null && isInside(observed.value)) return observed.value;
  const possible = Object.keys(counts.value).filter((state) => isInside(state) && counts.value[state] !== 0);
  return possible.length === 1 ? (possible[0] ?? status) : status;
}
