import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { WireTransition } from '../../../domain/liveProtocol.ts';
import type { MachineCounts } from '../../../domain/machine.ts';
import { feed } from '../../live/browserFeed.ts';
import { moved, withNewest } from './counts.ts';

/** A change of state from an event. */
export interface Change extends WireTransition {
  seq: number;
  at: string;
}

export interface Machines {
  /** null until it is loaded. */
  counts: MachineCounts | null;
  /** The last changes of all machines, newest first. */
  changes: readonly Change[];
}

/** The shortest interval between two renderings, ms. */
const paceMs = 250;
/** A snapshot may already include the events after it, so the counts are reloaded regularly, ms. */
const refreshMs = 10_000;
const changesMax = 200;

/** How many actors are in each state, and their latest changes. */
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
      // The coordinator's frames have the types of docs/live-events.md.
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
    // Another listener causes a snapshot for all of them.
    const refresh = setInterval(() => feed.listen('machines', { snapshot() {}, event() {} })(), refreshMs);
    return () => {
      end();
      clearInterval(refresh);
      if (timer !== null) clearTimeout(timer);
    };
  }, [shown]);
  return shown;
}
