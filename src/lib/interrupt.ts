import { onStopSignal } from './stopSignal.ts';

/** What aborts the signal of `interruptSignal`. */
export class Interrupted extends Error {
  /** 128 + SIGINT, as shells tell it. */
  readonly exitCode = 130;

  constructor() {
    super('stopped by a signal');
    this.name = 'Interrupted';
  }
}

/** A signal that aborts with `Interrupted` at Ctrl-C or SIGTERM. A second one ends the process at once. */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  onStopSignal(() => controller.abort(new Interrupted()));
  return controller.signal;
}

/** Resolves when the signal is aborted; at once when it was. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
