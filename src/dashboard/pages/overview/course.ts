import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { WireStatsPoint } from '../../../domain/wire/stats.ts';
import { api } from '../../session.ts';

/** Steps end every ten seconds; a new one is asked for as often, ms. */
const everyMs = 10_000;
/** An hour. */
const pointsMax = 360;

/** The last hour in steps, kept up to date; null before it is known. */
export function useCourse(): ReadonlySignal<readonly WireStatsPoint[] | null> {
  const points = useSignal<readonly WireStatsPoint[] | null>(null);
  useEffect(() => {
    let isOurs = true;
    const ask = async (): Promise<void> => {
      if (document.hidden) return;
      const known = points.peek() ?? [];
      try {
        const { points: more } = await api.peek().statsHistory(known.at(-1)?.at);
        if (isOurs && (more.length > 0 || points.peek() === null))
          points.value = [...known, ...more].slice(-pointsMax);
      } catch {
        // The connection banner tells what is wrong; the next step asks again.
      }
    };
    void ask();
    const timer = setInterval(() => void ask(), everyMs);
    return () => {
      isOurs = false;
      clearInterval(timer);
    };
  }, [points]);
  return points;
}
