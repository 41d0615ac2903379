import type { WireFailure } from '../../../domain/workerProtocol.ts';
import { ProviderRefused, ProviderUnreachable } from '../../provider.ts';
import { findModels, type ModelServer, type ModelsFound } from './modelList.ts';

/** Which model a job is run with, where the server has a say in it. */
export interface ModelChoice {
  /** @throws ProviderUnreachable, ProviderRefused. */
  list(): Promise<string[]>;
  /** @param wanted by the job, or configured; null: neither. @returns the model, or why there is none. */
  choose(wanted: string | null): Promise<string | WireFailure>;
}

/**
 * Models of a local server that answers with whatever it has, whatever it was asked for (llama.cpp; LM Studio with one
 * model loaded). A job that names another model must fail with Model not found, so the name is compared with what the
 * server reported last, and once more with what it reports now. A job that names none gets the only one there is.
 * @param configured the model of jobs that name none.
 * @param isStrict false: the server itself refuses a name that it does not know.
 */
export function localModels(server: ModelServer, isStrict: boolean, configured: string | null): ModelChoice {
  const { name } = server;
  /** null until a worker has asked: then nothing is compared. */
  let known: ModelsFound | null = null;
  const find = async (): Promise<ModelsFound> => {
    known = await findModels(server);
    return known;
  };
  return {
    list: async () => {
      const { names, all } = await find();
      // It will be loaded by the first job that wants it.
      const isToCome = configured !== null && !names.includes(configured) && all.includes(configured);
      return isToCome ? [...names, configured] : names;
    },
    choose: async (wanted) => {
      if (wanted !== null && (!isStrict || known === null || known.all.includes(wanted))) return wanted;
      let now: ModelsFound;
      try {
        now = await find();
      } catch (error) {
        // The run itself meets it too.
        return wanted ?? failureIn(error);
      }
      if (wanted !== null) return now.all.includes(wanted) ? wanted : notFound(name, wanted, now.all);
      const [only, ...others] = now.names;
      return only !== undefined && others.length === 0 ? only : noneNamed(name, now.names);
    },
  };
}

/** A server that does not answer has not said that it has no model. */
function failureIn(error: unknown): WireFailure {
  if (error instanceof ProviderUnreachable) return error.failure;
  if (error instanceof ProviderRefused) return { class: 'auth', message: error.message, status: 401 };
  throw error;
}

const shownMax = 10;

function notFound(name: string, wanted: string, all: readonly string[]): WireFailure {
  if (all.length === 0) return notLoaded(`${name} has no model`);
  const has = all.slice(0, shownMax).join(', ');
  return {
    class: 'model_not_found',
    message: `Model not found: ${name} does not report ${wanted}; it has ${has}`,
  };
}

function noneNamed(name: string, models: readonly string[]): WireFailure {
  const why =
    models.length === 0
      ? `${name} has no model loaded`
      : `the job names no model, ${name}.model is not configured, and ${name} has several`;
  return notLoaded(why);
}

function notLoaded(why: string): WireFailure {
  return { class: 'model_not_loaded', message: `No model loaded: ${why}` };
}
