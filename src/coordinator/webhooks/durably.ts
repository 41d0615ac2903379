import type { Clock } from '../../domain/clock.ts';
import { StoreUnavailable } from '../../domain/errors.ts';
import { type Deadlines, storeRetryMs } from '../core/index.ts';

/** Do something durable, again and again while the store takes no writes. @throws what else the task throws. */
export async function durably(
  { clock, deadlines }: { clock: Clock; deadlines: Deadlines },
  isClosed: () => boolean,
  task: () => Promise<void>,
): Promise<void> {
  while (!isClosed()) {
    try {
      return await task();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await new Promise<void>((resolve) => {
        deadlines.set(clock.monotonic() + storeRetryMs, resolve);
      });
    }
  }
}
