import type { WorkerKind } from '../../../domain/worker.ts';
import type { Assignment } from '../../../domain/workerProtocol.ts';
import type { Outcome, Provider } from '../../provider.ts';
import { badModelName, noModel } from '../errors/failures.ts';
import { hideAll, hideKeys } from '../errors/hide.ts';
import { timeoutsDefault } from '../http/patience.ts';
import type { ModelChoice } from '../models/localModels.ts';
import { addressOf, listModels, type ModelServer, queryOf } from '../models/modelList.ts';
import { type ProviderSettings, secretsOf } from '../providerSettings.ts';
import { RequestError } from '../request/chatMessages.ts';
import { runSdk, type SdkCall } from './runSdk.ts';

/** What is peculiar to one provider. */
export interface SdkProviderParts {
  kind: WorkerKind;
  /** Scheme, host and path; without a slash at its end. */
  baseUrl: string;
  /** Where its models are listed, and how it is asked. */
  server: Pick<ModelServer, 'lists' | 'headers' | 'start'>;
  overflowHelp?: string;
  /** Decides which model a job is run with; left out: the one that it names, or the configured one. */
  modelChoice?: (models: ModelServer) => ModelChoice;
  /** What the name of a model looks like, where it becomes a part of the address; left out: anything is sent. */
  modelPattern?: RegExp;
  /** Goes along with every request; left out: that of the configured address. */
  query?: string;
  /** @throws RequestError when the job cannot be asked. */
  call(assignment: Assignment, model: string): Pick<SdkCall, 'model' | 'options' | 'amend' | 'dialect'>;
}

/** A provider that is asked through its SDK. */
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
  const run: Provider['run'] = async (assignment, context): Promise<Outcome> => {
    const wanted = assignment.model ?? model;
    const modelName = choice === undefined ? (wanted ?? noModel(name)) : await choice.choose(wanted);
    if (typeof modelName !== 'string') return { ok: false, error: modelName };
    if (modelPattern?.test(modelName) === false) return { ok: false, error: badModelName(name) };
    try {
      const asked = call(assignment, modelName);
      const hide = hideAll(secrets, assignment);
      const refuser = { name, hide, ...(overflowHelp === undefined ? {} : { overflowHelp }) };
      const limits = { ...timeoutsDefault, ...timeouts };
      return await runSdk(
        { ...asked, refuser, address, modelName, timeouts: limits, query, headers },
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
    // Any name may be asked of a cloud provider: it has more models than it lists, and lists some that answer nothing.
    models: async () => (kind === 'local' ? list() : known === undefined ? null : [...known]),
    probe: list,
    run,
  };
}
