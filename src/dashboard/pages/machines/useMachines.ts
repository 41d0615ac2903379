import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { WireTransition } from '../../../domain/liveProtocol.ts';
import type { MachineCounts } from '../../../domain/machine.ts';
import { feed } from '../../live/browserFeed.ts';
import { moved, withNewest } from './counts.ts';

/** A change of state that was just told. */
export interface Change extends WireTransition {
  seq: number;
  at: string;
}

export interface Machines {
  /** null until it is known. */
  counts: MachineCounts | null;
  /** The last changes of all machines, newest first. */
  changes: readonly Change[];
}

/** At most so often the page is drawn anew, ms. */
const paceMs = 250;
/** A snapshot may hold what the events after it tell again, so the counts are asked for anew now and then, ms. */
const refreshMs = 10_000;
const changesMax = 200;

/** How many actors are in each state now, and what just happened to them. */
export function useMachines(): ReadonlySignal<Machines> {
  const shown = useSignal<Machines>({ counts: null, changes: [] });
  useEffect(() => {
    let counts: MachineCounts | null = null;
    let fresh: Change[] = [];
    let timer: ReturnType<typeof setTimeout> | null = null;
    const show = (): void => {
      timer = null;
      shown.value = { counts, changes: withNewest(shown.peek().changes, fresh, changesMax) };
      fresh = [];
    };
    const end = feed.listen('machines', {
      // What our own coordinator sends is of the types that docs/live-events.md says.
      snapshot: (data) => {
        counts = data as MachineCounts;
        timer ??= setTimeout(show, 0);
      },
      event: ({ type, seq, at, data }) => {
        if (type !== 'transition') return;
        const transition = data as WireTransition;
        if (counts !== null) counts = moved(counts, transition);
        fresh.push({ ...transition, seq, at });
        if (fresh.length > changesMax) fresh.shift();
        timer ??= setTimeout(show, paceMs);
      },
    });
    // One more listener brings a snapshot for all of them.
    const refresh = setInterval(() => feed.listen('machines', { snapshot() {}, event() {} })(), refreshMs);
    return () => {
      end();
      clearInterval(refresh);
      if (timer !== null) clearTimeout(timer);
    };
  }, [shown]);
  return shown;
}
