import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { StatsRange } from '../../../domain/stats.ts';
import type { WireStatsHistory } from '../../../domain/wire/stats.ts';
import { api } from '../../session.ts';

/** The label of each range, and its number of steps. */
export const courseRanges: Record<StatsRange, { label: string; title: string; pointsMax: number }> = {
  hour: { label: '1 h', title: 'The last hour', pointsMax: 360 },
  day: { label: '24 h', title: 'The last 24 hours', pointsMax: 1_440 },
  week: { label: '7 d', title: 'The last 7 days', pointsMax: 1_008 },
};

/** How often new steps are requested, ms: as often as steps end, but at least every minute. */
const everyMs: Record<StatsRange, number> = { hour: 10_000, day: 60_000, week: 60_000 };

/** The last hour, day or week in steps, kept up to date; null before it is loaded. */
export function useCourse(range: StatsRange): ReadonlySignal<WireStatsHistory | null> {
  const course = useSignal<WireStatsHistory | null>(null);
  useEffect(() => {
    let isOurs = true;
    let known: WireStatsHistory | null = null;
    course.value = null;
    const ask = async (): Promise<void> => {
      if (document.hidden) return;
      const before = known?.points ?? [];
      try {
        const { step_seconds, points: more } = await api.peek().statsHistory(range, before.at(-1)?.at);
        if (!isOurs || (more.length === 0 && known !== null)) return;
        known = { step_seconds, points: [...before, ...more].slice(-courseRanges[range].pointsMax) };
        course.value = known;
      } catch {
        // The connection banner shows the error; the next step retries.
      }
    };
    void ask();
    const timer = setInterval(() => void ask(), everyMs[range]);
    return () => {
      isOurs = false;
      clearInterval(timer);
    };
  }, [course, range]);
  return course;
}
