import type { WireProvider } from '../../../domain/wire/provider.ts';
import type { WireStats } from '../../../domain/wire/stats.ts';

/** A provider with the live figures about it. */
export interface ShownProvider extends WireProvider {
  /** Ready jobs that request it by name. */
  waiting: number;
}

/** All providers now: those that delay jobs first, then by name. */
export function liveProviders(
  providers: ReadonlyMap<string, WireProvider>,
  stats: Pick<WireStats, 'slots' | 'pending'> | null,
): ShownProvider[] {
  const slots = new Map(stats?.slots.providers.map((one) => [one.provider, one]));
  const waiting = new Map<string, number>();
  for (const { provider, ready } of stats?.pending ?? [])
    waiting.set(provider, (waiting.get(provider) ?? 0) + ready);
  return [...providers.values()]
    .map((provider): ShownProvider => {
      const now = slots.get(provider.name);
      // A provider without connected workers is not in the figures, and has no slots.
      const figures =
        stats === null
          ? {}
          : { running: now?.taken ?? 0, slots: now?.total ?? 0, free_slots: now?.free ?? 0 };
      return { ...provider, ...figures, waiting: waiting.get(provider.name) ?? 0 };
    })
    .sort(
      (a, b) =>
        Number(a.status === 'available') - Number(b.status === 'available') || a.name.localeCompare(b.name),
    );
}

/** Whether a reset changes anything. */
export function isHeldUp({ status, limits_in_row, breaker }: WireProvider): boolean {
  return status !== 'available' || limits_in_row > 0 || breaker.failed > 0 || breaker.opens_in_row > 0;
}
