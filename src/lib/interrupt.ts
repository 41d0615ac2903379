import { onStopSignal } from './stopSignal.ts';

/** The reason with which the signal of `interruptSignal` aborts. */
export class Interrupted extends Error {
  /** 128 + SIGINT, as in shells. */
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

/** Resolves when the signal is aborted; at once if it already is. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
