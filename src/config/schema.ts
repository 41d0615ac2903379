import { ValidationError } from 'yup';
import { tokensMax } from '../domain/limits.ts';
import { defaultsKey, localProviders } from './config.ts';
import {
  above,
  anyNumber,
  atLeast,
  baseUrl,
  environmentName,
  flag,
  headerRule,
  headerValue,
  httpUrl,
  listOf,
  listOfNames,
  mapOf,
  name,
  oneOf,
  pathSteps,
  secret,
  shape,
  text,
  wholeNumber,
} from './fields.ts';
import { type ConfigFile, logLevels, strategies } from './file.ts';

/** A day; a timer lasts at most 24. */
const timeoutSecondsMax = 86_400;

/** Keys at the top of the file, except names of providers. */
const topFields = {
  host: text(),
  port: wholeNumber(0, 65_535),
  public_url: httpUrl(),
  store: shape({ kind: oneOf(['json']), path: text() }),
  jobs: shape({
    timeout_seconds: wholeNumber(0),
    reap_stale_after_seconds: wholeNumber(0),
    heartbeat_interval_seconds: above(0, 3600),
    max_attempts: wholeNumber(1),
    max_reaps: wholeNumber(0),
    max_pending: wholeNumber(1),
    priorities: mapOf(anyNumber(), nameRule('a priority')),
    default_provider: name(),
  }),
  providers: mapOf(
    shape({
      rate_limit: shape({
        max_concurrent: wholeNumber(1),
        retry_after_seconds: wholeNumber(0),
        max_retries: wholeNumber(0),
        retry_after_max_seconds: wholeNumber(1),
      }),
      model: name(),
      base_url: baseUrl(),
      api_key_env: environmentName(),
      api_key_file: text(),
      headers: mapOf(headerValue(), headerRule),
      models: listOfNames(),
      api: oneOf(['chat', 'responses']),
      timeouts: shape({
        connect_seconds: above(0, timeoutSecondsMax),
        first_token_seconds: above(0, timeoutSecondsMax),
        idle_seconds: above(0, timeoutSecondsMax),
        total_seconds: atLeast(0),
      }),
      breaker: shape({
        ratio: above(0, 1),
        minimum: wholeNumber(1),
        window_seconds: above(0),
        open_seconds: above(0),
      }),
    }),
    nameRule('a provider'),
  ),
  routing: shape({
    strategy: oneOf(strategies),
    chain: listOfNames(),
    rules: listOf(
      shape({
        match: shape({
          tags: listOfNames(),
          any_tags: listOfNames(),
          provider: name(),
          model: name(),
          tier: name(),
          priority: name(),
        }),
        chain: listOfNames(),
        provider: name(),
        model: name(),
        worker: name(),
        worker_tag: name(),
      }),
    ),
    fallback_on_timeout: flag(),
  }),
  pricing: mapOf(
    mapOf(
      shape({
        input_per_million: atLeast(0),
        output_per_million: atLeast(0),
        cached_input_per_million: atLeast(0),
        cache_write_per_million: atLeast(0),
        free: flag(),
      }),
      nameRule('a model'),
    ),
    nameRule('a provider'),
  ),
  retention: shape({ keep_days: atLeast(0), keep_jobs: wholeNumber(0), audit_days: above(0) }),
  cost: shape({ tokens_max_per_attempt: wholeNumber(1, tokensMax) }),
  http: shape({
    fronts: wholeNumber(0, 16),
    max_body_bytes: wholeNumber(1024, 1024 ** 3),
    max_batch_bytes: wholeNumber(1024, 256 * 1024 ** 2),
    rate_limit_per_key: atLeast(0),
    max_connections: wholeNumber(1, 1_000_000),
    head_timeout_seconds: above(0, 3600),
    body_timeout_seconds: above(0, 86_400),
    unread_timeout_seconds: above(0, 86_400),
    failed_logins_per_minute: wholeNumber(0),
    trusted_proxies: wholeNumber(0, 10),
    allowed_hosts: listOfNames(),
    body_memory_bytes: wholeNumber(1024 ** 2, 1024 ** 4),
    answer_memory_bytes: wholeNumber(1024 ** 2, 1024 ** 4),
    upload_min_bytes_per_second: wholeNumber(0),
    shares: shape({
      pending: above(0, 1),
      live: above(0, 1),
      connections: above(0, 1),
      bytes_in: above(0, 1),
      bytes_out: above(0, 1),
      files: above(0, 1),
    }),
  }),
  live: shape({ max_subscribers: wholeNumber(0) }),
  front: shape({
    openai: flag(),
    mcp: flag(),
    sync_max_seconds: above(0, timeoutSecondsMax),
    files: shape({
      max_file_bytes: wholeNumber(1024, 4 * 1024 ** 3),
      max_bytes: wholeNumber(0, 1024 ** 5),
      days: above(0, 36_500),
    }),
  }),
  webhooks: shape({ allow_http: flag(), allow_private: listOfNames(), allowed_hosts: listOfNames() }),
  log: shape({ level: oneOf(logLevels) }),
  shutdown: shape({ grace_seconds: atLeast(0) }),
  worker: shape({
    name: name(),
    providers: listOfNames(),
    concurrency: wholeNumber(0),
    tags: listOfNames(),
    coordinator: httpUrl(),
    api_key: secret(),
  }),
};

function nameRule(what: string): { fits: (key: string) => boolean; rule: string } {
  return {
    fits: (key) => key.trim() !== '' && key.length <= 200 && key !== '__proto__',
    rule: `is not a name for ${what}`,
  };
}

/** A fault in the data: path and message. */
export interface Fault {
  path: string;
  message: string;
}

/**
 * Check the shape of the data. No value is converted to another type; every fault is reported.
 * @returns `file`: the parts with the right shape, which is everything but the top-level keys with a fault.
 */
export function checkShape(data: Record<string, unknown>): { file: ConfigFile; faults: Fault[] } {
  const schema = shape({ ...providerFields(data), ...topFields }, (key) =>
    isModelOnly(data[key]) ? `the model of a provider belongs in providers.${key}.model` : null,
  );
  try {
    schema.validateSync(data, { strict: true, abortEarly: false });
    return { file: data, faults: [] };
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    const inner = error.inner.length > 0 ? error.inner : [error];
    const faults = inner.map(({ path, message }) => ({ path: path ?? '', message }));
    const faulty = new Set(faults.map(({ path }) => pathSteps(path)[0]));
    const sound = Object.entries(data).filter(([key]) => !faulty.has(key));
    return { file: Object.fromEntries(sound), faults };
  }
}

/** Names allowed at the top with their `model`: the built-in local ones and those under `providers`. */
export function topLevelProviders(data: { providers?: unknown }): string[] {
  const { providers } = data;
  const named = typeof providers === 'object' && providers !== null ? Object.keys(providers) : [];
  return [...new Set([...localProviders, ...named])].filter(
    (key) => key !== defaultsKey && !Object.hasOwn(topFields, key),
  );
}

function providerFields(data: Record<string, unknown>): Record<string, ReturnType<typeof shape>> {
  return Object.fromEntries(topLevelProviders(data).map((key) => [key, shape({ model: name() })]));
}

function isModelOnly(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).join() === 'model';
}
