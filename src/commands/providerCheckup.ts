import type { LoadedConfig } from '../config/load.ts';
import { readWorkerEnvironment, type WorkerEnvironment } from '../config/workerEnvironment.ts';
import { messageOf } from '../domain/errors.ts';
import { UnusableKeyFile } from '../worker/keyFile.ts';
import { providerSettings } from '../worker/layers.ts';
import { ProviderRefused, ProviderUnreachable } from '../worker/provider.ts';
import { keyVariableOf, UnusableKey } from '../worker/providerKeys.ts';
import { createProvider, missingAddress } from '../worker/providers/index.ts';
import { providerNames } from '../worker/providers/names.ts';
import type { ProviderSettings } from '../worker/providers/providerSettings.ts';
import { type Finding, fault, ok } from './finding.ts';

const title = 'Provider';
/** Names shown of a long list. */
const shownMax = 8;

interface Sources {
  environment: WorkerEnvironment;
  local: LoadedConfig;
  env: NodeJS.ProcessEnv;
}

/**
 * Ask every provider that a worker on this machine would serve whether it is there, takes the key and has the configured
 * model: those of `worker.providers` and `named`. Others that are configured with an address are asked too, but a worker
 * elsewhere may be the one that reaches them, so what is wrong with them is a warning.
 * @param named as `svc worker --provider` takes them.
 */
export async function checkProviders(
  local: LoadedConfig,
  named: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Finding[]> {
  const { config } = local;
  const served = new Set([...named, ...config.worker.providers]);
  const others = Object.keys(config.providers).filter(
    (name) => !served.has(name) && (config.providers[name]?.baseUrl ?? null) !== null,
  );
  let environment: WorkerEnvironment;
  try {
    environment = readWorkerEnvironment(env);
  } catch (error) {
    return [fault('Providers', messageOf(error), 'export SVC_LOCAL_MODEL_HOST=http://<host>:<port>')];
  }
  const sources = { environment, local, env };
  return Promise.all([
    ...[...served].map((name) => checkProvider(name, sources)),
    ...others.map(async (name) => softened(await checkProvider(name, sources))),
  ]);
}

function softened(finding: Finding): Finding {
  return finding.level === 'fault' ? { ...finding, level: 'warning' } : finding;
}

async function checkProvider(name: string, sources: Sources): Promise<Finding> {
  let settings: ProviderSettings;
  try {
    settings = providerSettings(name, sources, null);
  } catch (error) {
    if (error instanceof UnusableKeyFile) return fault(title, error.message, keyFileLine(error.path));
    if (!(error instanceof UnusableKey)) throw error;
    return fault(title, error.message, exportLine(error.variable));
  }
  const provider = createProvider(settings);
  if (provider === null) {
    const line = `providers: { ${name}: { base_url: http://<host>:<port>/v1 } }`;
    if (providerNames().includes(name)) return fault(title, missingAddress(name), line);
    const fix = `${line}    (built in are: ${providerNames().join(', ')})`;
    return fault(title, `${name} is not a built-in provider and has no base_url`, fix);
  }
  try {
    return found(settings, await provider.probe());
  } catch (error) {
    if (error instanceof ProviderRefused) {
      const { apiKeyEnv: named = null, apiKeyFile } = sources.local.config.providers[name] ?? {};
      if (apiKeyFile !== undefined) return fault(title, error.message, keyFileLine(apiKeyFile));
      const variable = keyVariableOf(name, settings.baseUrl, named);
      return fault(title, error.message, variable === null ? nameVariableLine(name) : exportLine(variable));
    }
    if (error instanceof ProviderUnreachable) {
      const { problem, advice } = error;
      return fault(title, `could not connect to the ${name} server at ${error.address}: ${problem}`, advice);
    }
    throw error;
  }
}

function exportLine(variable: string): string {
  return `export ${variable}=<key>`;
}

function keyFileLine(path: string): string {
  return `write the key, and nothing else, into ${path}`;
}

function nameVariableLine(name: string): string {
  return `providers: { ${name}: { api_key_env: <the variable that holds its key> } }`;
}

function found({ name, model }: ProviderSettings, models: readonly string[] | null): Finding {
  if (models === null) return ok(title, `${name} is built in`);
  if (models.length === 0) {
    return fault(title, `No model loaded: ${name} answers but has no model`, loadLine(name, model));
  }
  const more = models.length > shownMax ? ` and ${models.length - shownMax} more` : '';
  const list = `${models.slice(0, shownMax).join(', ')}${more}`;
  if (model !== null && !models.includes(model)) {
    const fix = `${loadLine(name, model)}    (or fix ${name}.model)`;
    return fault(
      title,
      `Model not found: ${name} does not report ${model} (${name}.model); it has ${list}`,
      fix,
    );
  }
  return ok(
    title,
    `${name} answers; ${models.length === 1 ? '1 model' : `${models.length} models`}: ${list}`,
  );
}

function loadLine(name: string, model: string | null): string {
  const wanted = model ?? '<model>';
  const lines: Readonly<Record<string, string>> = {
    ollama: `ollama pull ${wanted}`,
    lmstudio: `lms load ${wanted}`,
    llamacpp: 'llama-server -m <model.gguf> --port 8080',
    vllm: `vllm serve ${wanted}`,
  };
  return Object.hasOwn(lines, name) ? (lines[name] ?? '') : `${name}: { model: <one of its models> }`;
}
