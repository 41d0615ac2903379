import type { WireProvider } from '../../../domain/wire/provider.ts';
import type { WireStats } from '../../../domain/wire/stats.ts';

/** A provider with what the figures of each second say of it. */
export interface ShownProvider extends WireProvider {
  /** Ready jobs that ask for it by name. */
  waiting: number;
}

/** Every provider as it is now: those that hold jobs up first, then by name. */
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
      // A provider that no connected worker serves is in no figure, and has no slots.
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
