import type { Clock } from '../../domain/clock.ts';
import { StoreUnavailable } from '../../domain/errors.ts';

/** Before the second try, the third, and so on, ms. A commit under way ends within some of them. */
const pausesMs = [0, 10, 50, 200, 500];

/**
 * Wait before deciding a change again after another writer was faster (`VersionConflict`, `KeyTaken`): another writer
 * of the same store, or this one before its wall clock was set back. The first time there is no wait, as the other change is
 * usually there to be read already.
 * @param tries how many times it was tried. @throws StoreUnavailable after the sixth: the caller may try it later.
 */
export async function afterConflict(clock: Clock, conflict: Error, tries: number): Promise<void> {
  const pauseMs = pausesMs[tries - 1];
  if (pauseMs === undefined)
    throw new StoreUnavailable(`others were faster ${tries} times in a row: ${conflict.message}`, conflict);
  if (pauseMs > 0) await new Promise<void>((resolve) => clock.after(pauseMs, resolve));
}
