import { messageOf } from '../../domain/errors.ts';
import type { WireUsage } from '../../domain/usage.ts';
import type { Assignment, WireFailure } from '../../domain/workerProtocol.ts';
import { systemClock } from '../../lib/systemClock.ts';
import {
  abortedOutcome,
  type Outcome,
  type Provider,
  ProviderUnreachable,
  type RunContext,
} from '../provider.ts';
import { beginOf, HttpFailure, linesOf, openStream, type StreamAnswer, type Timeouts } from './httpStream.ts';
import type { ProviderSetup } from './index.ts';
import { failureInStream, failureOfConnection, failureOfStatus, incompleteStream } from './ollamaErrors.ts';
import { OllamaRequestError, ollamaRequest } from './ollamaRequest.ts';

const addressDefault = 'http://127.0.0.1:11434';
/**
 * The headers come with the first token, so the first wait covers loading a model from a slow disk and reading a long
 * prompt without a GPU. The job's own timeout ends it sooner.
 */
const timeoutsDefault: Timeouts = { connectMs: 10_000, firstMs: 30 * 60_000, idleMs: 5 * 60_000 };
/** Listing models is a look at a table. */
const listTimeouts: Timeouts = { connectMs: 5_000, firstMs: 10_000, idleMs: 10_000 };
const errorBodyMax = 64 * 1024;
/** Characters; no frame to the coordinator may be larger either. */
const lineMax = 16 * 1024 * 1024;

/** Where and how an ollama server is asked. */
interface Server {
  name: string;
  /** Without a slash at its end; a path before /api (a proxy's prefix) is kept. */
  base: string;
  /** The same without a user name and password. */
  address: string;
  headers: Record<string, string>;
  timeouts: Timeouts;
  /** What a server says may repeat what it was sent. */
  withoutKey(text: string): string;
}

/**
 * Ollama over its native API: `/api/chat` streams JSON lines, `/api/tags` tells the models. The `/v1` of ollama would
 * ignore `num_ctx`. `params`: `num_ctx`, `temperature` and every other option of the model; `max_tokens` or
 * `num_predict`; `format` or `response_format`; `keep_alive`; `think`.
 * Source: https://github.com/ollama/ollama/blob/main/docs/api.md
 */
export function createOllama(
  { name, baseUrl, apiKey, model }: Omit<ProviderSetup, 'logger'>,
  timeouts: Timeouts = timeoutsDefault,
): Provider {
  const base = (baseUrl ?? addressDefault).replace(/\/+$/, '');
  const { origin, pathname } = new URL(base);
  const address = `${origin}${pathname.replace(/\/$/, '')}`;
  const headers: Record<string, string> = apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
  const withoutKey = (text: string): string => (apiKey === null ? text : text.replaceAll(apiKey, '[hidden]'));
  const server: Server = { name, base, address, headers, timeouts, withoutKey };
  return {
    name,
    kind: 'local',
    models: () => listModels(server),
    run: (assignment, context) => run(server, assignment, assignment.model ?? model, context),
  };
}

async function run(
  server: Server,
  assignment: Assignment,
  model: string | null,
  context: RunContext,
): Promise<Outcome> {
  if (context.signal.aborted) return abortedOutcome();
  if (model === null) {
    return failed({
      class: 'model_not_loaded',
      message: `No model loaded: the job names no model, and ${server.name}.model is not configured`,
    });
  }
  try {
    const answer = await openStream({
      method: 'POST',
      url: new URL(`${server.base}/api/chat`),
      headers: { ...server.headers, 'content-type': 'application/json' },
      body: ollamaRequest(assignment, model),
      signal: context.signal,
      clock: context.clock,
      timeouts: server.timeouts,
    });
    return await read(answer, model, server, context);
  } catch (error) {
    if (context.signal.aborted) return abortedOutcome();
    if (error instanceof HttpFailure) return failed(failureOfConnection(error, server.address));
    if (error instanceof OllamaRequestError) {
      return failed({ class: 'invalid_request', code: 'invalid_request', message: error.message });
    }
    throw error;
  }
}

async function read(
  { status, headers, body }: StreamAnswer,
  model: string,
  { withoutKey }: Server,
  context: RunContext,
): Promise<Outcome> {
  if (status !== 200) {
    const text = withoutKey(await beginOf(body, errorBodyMax));
    return failed(failureOfStatus(status, headers, text, context.clock.now()));
  }
  let output = '';
  for await (const line of linesOf(body, lineMax)) {
    if (line.trim() === '') continue;
    const said = parseLine(line);
    if (said === null) return failed({ ...incompleteStream(), code: 'malformed_stream' });
    if (said.error !== null) return failed(failureInStream(withoutKey(said.error)));
    if (said.text !== '') {
      output += said.text;
      context.onText(said.text);
    }
    if (!said.isDone) continue;
    const { reason, metrics } = said;
    return {
      ok: true,
      result: {
        output,
        finish_reason: reason,
        model: said.model ?? model,
        usage: usageOf(metrics),
        raw_usage: metrics,
      },
    };
  }
  return failed(incompleteStream());
}

function failed(error: WireFailure): Outcome {
  return { ok: false, error };
}

/** One line of the answer. Thinking is no output: it only shows that the model lives. */
interface Said {
  text: string;
  error: string | null;
  isDone: boolean;
  reason: string;
  model: string | null;
  /** Counts of tokens, and durations in nanoseconds. */
  metrics: Record<string, number>;
}

const metricKeys = [
  'prompt_eval_count',
  'eval_count',
  'total_duration',
  'load_duration',
  'prompt_eval_duration',
  'eval_duration',
];

function parseLine(line: string): Said | null {
  let fields: Record<string, unknown>;
  try {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed !== 'object' || parsed === null) return null;
    fields = { ...parsed };
  } catch {
    return null;
  }
  const { message, error, done, done_reason: reason, model } = fields;
  const content =
    typeof message === 'object' && message !== null && 'content' in message ? message.content : '';
  return {
    text: typeof content === 'string' ? content : '',
    error: error === undefined ? null : typeof error === 'string' ? error : 'an error without a text',
    isDone: done === true,
    reason: typeof reason === 'string' && reason !== '' ? reason : 'stop',
    model: typeof model === 'string' && model !== '' ? model : null,
    metrics: Object.fromEntries(
      metricKeys.flatMap((key) => {
        const value = fields[key];
        return typeof value === 'number' ? [[key, value]] : [];
      }),
    ),
  };
}

/** A count of 0 is left out on the wire (`omitempty`), and so is that of a prompt that was in the cache as a whole. */
function usageOf({
  prompt_eval_count: input,
  eval_count: output,
}: Record<string, number>): Partial<WireUsage> {
  return {
    ...(input === undefined ? {} : { input_tokens: input }),
    ...(output === undefined ? {} : { output_tokens: output }),
    ...(input === undefined || output === undefined ? {} : { total_tokens: input + output }),
  };
}

/** The names under which its models can be asked for: `llama3.2:latest` is also `llama3.2`. */
async function listModels({ name, base, address, headers }: Server): Promise<string[]> {
  const unreachable = (advice: string, cause?: unknown): ProviderUnreachable =>
    new ProviderUnreachable(name, address, advice, cause);
  try {
    const answer = await openStream({
      method: 'GET',
      url: new URL(`${base}/api/tags`),
      headers,
      signal: new AbortController().signal,
      clock: systemClock,
      timeouts: listTimeouts,
    });
    const text = await beginOf(answer.body, lineMax);
    const models = answer.status === 200 ? modelsIn(text) : null;
    if (models !== null) return models;
    throw unreachable(`what answers there (status ${answer.status}) is no ollama server. ${whereElse}`);
  } catch (error) {
    if (error instanceof ProviderUnreachable) throw error;
    throw unreachable(`${messageOf(error)}. Start it with "ollama serve". ${whereElse}`, error);
  }
}

const whereElse = 'Is it elsewhere, say so with SVC_LOCAL_MODEL_HOST or providers.ollama.base_url';

function modelsIn(text: string): string[] | null {
  try {
    const { models } = JSON.parse(text) as { models?: unknown };
    if (!Array.isArray(models)) return null;
    const names = models.flatMap(({ name }: { name?: unknown }) => (typeof name === 'string' ? [name] : []));
    return names.flatMap((name) =>
      name.endsWith(':latest') ? [name, name.slice(0, -':latest'.length)] : [name],
    );
  } catch {
    return null;
  }
}
