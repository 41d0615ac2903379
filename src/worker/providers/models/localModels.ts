import type { WireFailure } from '../../../domain/workerProtocol.ts';
import { ProviderRefused, ProviderUnreachable } from '../../provider.ts';
import { findModels, type ModelServer, type ModelsFound } from './modelList.ts';

/** The model that a job runs with, where the server decides too. */
export interface ModelChoice {
  /** @throws ProviderUnreachable, ProviderRefused. */
  list(): Promise<string[]>;
  /** @param wanted by the job, or configured; null: neither. @returns the model, or the failure. */
  choose(wanted: string | null): Promise<string | WireFailure>;
}

/**
 * Models of a local server that answers with the model it has, whatever the request says (llama.cpp; LM Studio with one
 * model loaded). A job that names another model must fail with Model not found, so the name is compared with the last
 * list of the server, and then with its current list. A job that names none gets the only model there is.
 * @param configured the model for jobs that name none.
 * @param isStrict false: the server itself refuses unknown names.
 */
export function localModels(server: ModelServer, isStrict: boolean, configured: string | null): ModelChoice {
  const { name } = server;
  /** null until the first list: nothing is compared then. */
  let known: ModelsFound | null = null;
  const find = async (): Promise<ModelsFound> => {
    known = await findModels(server);
    return known;
  };
  return {
    list: async () => {
      const { names, all } = await find();
      // The first job that needs it loads it.
      const isToCome = configured !== null && !names.includes(configured) && all.includes(configured);
      return isToCome ? [...names, configured] : names;
    },
    choose: async (wanted) => {
      if (wanted !== null && (!isStrict || known === null || known.all.includes(wanted))) return wanted;
      let now: ModelsFound;
      try {
        now = await find();
      } catch (error) {
        // The run itself will fail too.
        return wanted ?? failureIn(error);
      }
      if (wanted !== null) return now.all.includes(wanted) ? wanted : notFound(name, wanted, now.all);
      const [only, ...others] = now.names;
      return only !== undefined && others.length === 0 ? only : noneNamed(name, now.names);
    },
  };
}

/** A server that does not answer may still have a model. */
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
