import { nameLengthMax } from '../../domain/limits.ts';
import type { WorkerLife } from '../../domain/worker.ts';
import { modelsLengthMax, modelsMax, providersMax, tagsMax } from '../../domain/workerProtocol.ts';

/**
 * A worker as it is kept today. Earlier versions took up to 16 MiB of names from a worker, and such a record would make the
 * list of workers too long to be answered: what exceeds the limits of a hello is left out.
 * @returns the same object when nothing exceeds them.
 */
export function boundedWorker(life: WorkerLife): WorkerLife {
  const isName = (name: string): boolean => name.length <= nameLengthMax;
  const providers = life.providers.filter(isName).slice(0, providersMax);
  const tags = life.tags.filter(isName).slice(0, tagsMax);
  const models = boundedModels(life.models, providers);
  const isSame =
    providers.length === life.providers.length && tags.length === life.tags.length && models === life.models;
  return isSame ? life : { ...life, providers, tags, models };
}

/**
 * The models of the providers that a worker serves, as many as it may have.
 * @returns the same object when that is all of them.
 */
export function boundedModels(
  models: Record<string, string[]>,
  providers: readonly string[],
): Record<string, string[]> {
  const served = Object.entries(models).filter(([provider]) => providers.includes(provider));
  let count = 0;
  let length = 0;
  const kept = served.map(([provider, names]): [string, string[]] => [
    provider,
    names.filter((name) => {
      if (count >= modelsMax || name.length > nameLengthMax || length + name.length > modelsLengthMax)
        return false;
      count += 1;
      length += name.length;
      return true;
    }),
  ]);
  const isSame =
    kept.length === Object.keys(models).length &&
    kept.every(([, names], index) => names.length === served[index]?.[1].length);
  return isSame ? models : Object.fromEntries(kept);
}
