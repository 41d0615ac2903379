import type { WorkerKind } from '../../../domain/worker.ts';
import type { Assignment } from '../../../domain/workerProtocol.ts';
import type { Provider, RunOutcome } from '../../provider.ts';
import { badModelName, noModel } from '../errors/failures.ts';
import { hideAll, hideKeys } from '../errors/hide.ts';
import { timeoutsDefault } from '../http/timeoutWatch.ts';
import type { ModelChoice } from '../models/localModels.ts';
import { addressOf, listModels, type ModelServer, queryOf } from '../models/modelList.ts';
import { type ProviderSettings, secretsOf } from '../providerSettings.ts';
import { RequestError } from '../request/chatMessages.ts';
import { runSdk, type SdkCall } from './runSdk.ts';

/** The specifics of one provider. */
export interface SdkProviderParts {
  kind: WorkerKind;
  /** Scheme, host and path; without a trailing slash. */
  baseUrl: string;
  /** Its lists of models, its headers, and how to start it. */
  server: Pick<ModelServer, 'lists' | 'headers' | 'start'>;
  overflowHelp?: string;
  /** Decides the model of a job; absent: the job's, or the configured one. */
  modelChoice?: (models: ModelServer) => ModelChoice;
  /** The form of a model's name, where it is part of the address; absent: any. */
  modelPattern?: RegExp;
  /** Added to every request; absent: the query of the configured address. */
  query?: string;
  /** @throws RequestError when the job cannot be run. */
  call(assignment: Assignment, model: string): Pick<SdkCall, 'model' | 'options' | 'amend' | 'dialect'>;
}

/** A provider that is called through its SDK. */
export function sdkProvider(settings: ProviderSettings, parts: SdkProviderParts): Provider {
  const { name, model, timeouts, headers = {}, models: known } = settings;
  const { kind, baseUrl, overflowHelp, modelChoice, modelPattern, call } = parts;
  const { query = queryOf(settings.baseUrl) } = parts;
  const secrets = secretsOf(settings);
  const address = addressOf(baseUrl);
  const server = { ...parts.server, headers: { ...parts.server.headers, ...headers } };
  const models: ModelServer = { name, address, hide: hideKeys(secrets), query, known, ...server };
  const choice = modelChoice?.(models);
  const list = choice === undefined ? () => listModels(models) : () => choice.list();
  const run: Provider['run'] = async (assignment, context): Promise<RunOutcome> => {
    const wanted = assignment.model ?? model;
    const modelName = choice === undefined ? (wanted ?? noModel(name)) : await choice.choose(wanted);
    if (typeof modelName !== 'string') return { ok: false, error: modelName };
    if (modelPattern?.test(modelName) === false) return { ok: false, error: badModelName(name) };
    try {
      const asked = call(assignment, modelName);
      const hide = hideAll(secrets, assignment);
      const source = { name, hide, ...(overflowHelp === undefined ? {} : { overflowHelp }) };
      const limits = { ...timeoutsDefault, ...timeouts };
      return await runSdk(
        { ...asked, source, address, modelName, timeouts: limits, query, headers },
        context,
      );
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      return {
        ok: false,
        error: { class: 'invalid_request', code: 'invalid_request', message: error.message },
      };
    }
  };
  return {
    name,
    kind,
    // A cloud provider takes any name: it has more models than it lists, and lists some that do not answer.
    models: async () => (kind === 'local' ? list() : known === undefined ? null : [...known]),
    probe: list,
    run,
  };
}
