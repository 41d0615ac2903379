import type { WireWorker } from '../../../domain/wire/worker.ts';

/** The offers of connected workers, sorted: every provider, and the models of the selected one or of all. */
export function suggestionsOf(
  workers: readonly WireWorker[],
  provider: string,
): { providers: string[]; models: string[] } {
  const connected = workers.filter((worker) => worker.connected);
  const models = connected.flatMap((worker) =>
    Object.entries(worker.models)
      .filter(([name]) => provider === '' || name === provider)
      .flatMap(([, names]) => names),
  );
  return { providers: sorted(connected.flatMap((worker) => worker.providers)), models: sorted(models) };
}

function sorted(names: readonly string[]): string[] {
  return [...new Set(names)].sort();
}
