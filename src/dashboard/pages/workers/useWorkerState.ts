import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { WireTransition } from '../../../domain/liveProtocol.ts';
import type { WireWorker } from '../../../domain/wire.ts';
import { feed } from '../../live/browserFeed.ts';

/**
 * Where a worker is in its machine, as a path: its status at first, and the state inside of that from the first change
 * on that is heard of.
 */
export function useWorkerState({ id, status }: WireWorker): string {
  const heard = useSignal<string | null>(null);
  useEffect(() => {
    heard.value = null;
    return feed.listen('machines', {
      snapshot() {
        // It may have changed while nobody listened.
        heard.value = null;
      },
      event({ type, data }) {
        if (type !== 'transition') return;
        const { machine, actor_id: actor, to } = data as WireTransition;
        if (machine === 'worker' && actor === id) heard.value = to;
      },
    });
  }, [heard, id]);
  const state = heard.value;
  return state !== null && state.split('.')[0] === status ? state : status;
}
