import type { ToolCall } from '../../domain/job.ts';
import type { WireUsage } from '../../domain/usage.ts';
import { type Assignment, frameBytesMax, outputBytesMax } from '../../domain/workerProtocol.ts';
import { abortedOutcome, type Provider, type RunContext, type RunOutcome } from '../provider.ts';
import { classify, type ErrorResponse } from './errors/classify.ts';
import {
  brokenStream,
  connectionFailure,
  incompleteStream,
  malformedStream,
  noModel,
  tooLargeOutput,
} from './errors/failures.ts';
import { hideAll, hideKeys } from './errors/hide.ts';
import { HttpFailure } from './http/httpFailure.ts';
import { openStream, type StreamAnswer } from './http/openStream.ts';
import { beginOf, linesOf } from './http/readBody.ts';
import { type Timeouts, TimeoutWatch, timeoutsDefault } from './http/timeoutWatch.ts';
import {
  addressOf,
  baseOf,
  listModels,
  type ModelServer,
  namesIn,
  queryOf,
  withQuery,
} from './models/modelList.ts';
import { type AnswerLine, parseLine } from './ollama/line.ts';
import { ollamaRequest } from './ollama/request.ts';
import { isTruncated, truncatedFailure } from './ollama/window.ts';
import { type ProviderSettings, secretsOf } from './providerSettings.ts';
import { RequestError } from './request/chatMessages.ts';

const addressDefault = 'http://127.0.0.1:11434';
const errorBodyMax = 64 * 1024;
const overflowHelp = 'params.num_ctx sets a larger window';

/** The address and settings of an ollama server. */
interface Server extends ModelServer {
  /** Without a trailing slash; a path before /api (a proxy's prefix) is kept. */
  base: string;
  timeouts: Timeouts;
}

/**
 * Ollama over its native API: `/api/chat` streams JSON lines, `/api/tags` tells the models. The `/v1` of ollama would
 * ignore `num_ctx`. `params`: `num_ctx`, `temperature` and every other option of the model; `max_tokens` or
 * `num_predict`; `format` or `response_format`; `tools`; `keep_alive`; `think`.
 * Source: https://github.com/ollama/ollama/blob/main/docs/api.md
 */
export function createOllama(settings: ProviderSettings): Provider {
  const { name, baseUrl, apiKey, model, timeouts, headers } = settings;
  const secrets = secretsOf(settings);
  // The address of its other API, which people often have at hand.
  const base = baseOf(baseUrl ?? addressDefault).replace(/\/v1$/, '');
  const server: Server = {
    name,
    base,
    address: addressOf(base),
    headers: { ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }), ...headers },
    query: queryOf(baseUrl),
    known: settings.models,
    timeouts: { ...timeoutsDefault, ...timeouts },
    hide: hideKeys(secrets),
    lists: [{ url: `${base}/api/tags`, names: ({ models }) => withShortNames(namesIn(models, 'name')) }],
    start: 'Start it with "ollama serve"',
  };
  return {
    name,
    kind: 'local',
    models: () => listModels(server),
    probe: () => listModels(server),
    run: (assignment, context) => {
      const asked = { ...server, hide: hideAll(secrets, assignment) };
      return run(asked, assignment, assignment.model ?? model, context);
    },
  };
}

/** The names under which its models can be requested: `llama3.2:latest` is also `llama3.2`. */
function withShortNames(names: readonly string[] | null): string[] | null {
  if (names === null) return null;
  return names.flatMap((name) =>
    name.endsWith(':latest') ? [name, name.slice(0, -':latest'.length)] : [name],
  );
}

async function run(
  server: Server,
  assignment: Assignment,
  model: string | null,
  context: RunContext,
): Promise<RunOutcome> {
  if (context.signal.aborted) return abortedOutcome();
  if (model === null) return { ok: false, error: noModel(server.name) };
  const watch = new TimeoutWatch(context.clock, server.timeouts, context.signal);
  let hasBegun = false;
  try {
    const body = ollamaRequest(assignment, model);
    const answer = await openStream({
      method: 'POST',
      url: withQuery(new URL(`${server.base}/api/chat`), server.query ?? ''),
      headers: { ...server.headers, 'content-type': 'application/json' },
      body,
      watch,
    });
    hasBegun = answer.status === 200;
    const outcome = await read(answer, model, server, watch, context);
    if (!outcome.ok || !(await isTruncated(server, model, assignment, outcome.result.usage.input_tokens)))
      return outcome;
    return { ok: false, error: truncatedFailure(server.name, overflowHelp), usage: outcome.result.usage };
  } catch (error) {
    if (context.signal.aborted) return abortedOutcome();
    if (error instanceof HttpFailure && error.kind === 'network' && hasBegun) {
      return { ok: false, error: brokenStream(server.name, error) };
    }
    if (error instanceof HttpFailure) {
      return { ok: false, error: connectionFailure(server.name, server.address, error) };
    }
    if (error instanceof RequestError) {
      return {
        ok: false,
        error: { class: 'invalid_request', code: 'invalid_request', message: error.message },
      };
    }
    throw error;
  } finally {
    watch.end();
  }
}

async function read(
  { status, headers, body }: StreamAnswer,
  model: string,
  { name, hide }: Server,
  watch: TimeoutWatch,
  context: RunContext,
): Promise<RunOutcome> {
  const refused = (refusal: ErrorResponse): RunOutcome => ({
    ok: false,
    error: classify(refusal, { name, hide, overflowHelp }, context.clock.now()),
  });
  if (status !== 200) return refused({ status, headers, body: await beginOf(body, errorBodyMax) });
  let output = '';
  const toolCalls: ToolCall[] = [];
  // A malformed line is a truncated one when it is the last of an answer that had begun.
  let [hasBegun, isBroken] = [false, false];
  for await (const line of linesOf(body, frameBytesMax)) {
    if (line.trim() === '') continue;
    if (context.signal.aborted) return abortedOutcome();
    const said = isBroken ? null : parseLine(line);
    if (said === null && (isBroken || !hasBegun)) {
      return { ok: false, error: malformedStream(name, 'a line that is not of its protocol') };
    }
    isBroken = said === null;
    if (said === null) continue;
    hasBegun = true;
    if (said.error !== null) return refused({ status: null, headers: {}, body: { error: said.error } });
    watch.progress();
    if (said.thinking !== '') context.onPart({ type: 'reasoning', text: said.thinking });
    for (const call of said.toolCalls) {
      const index = toolCalls.length;
      const id = `call_${index}`;
      toolCalls.push({ id, type: 'function', function: call });
      context.onPart({ type: 'tool_call', index, id, ...call });
    }
    if (said.text !== '') {
      output += said.text;
      if (output.length > outputBytesMax) return { ok: false, error: tooLargeOutput(name) };
      context.onText(said.text);
    }
    if (said.isDone) return whole(said, output, toolCalls, model);
  }
  return { ok: false, error: incompleteStream(name) };
}

function whole(
  { reason, model: reported, metrics }: AnswerLine,
  output: string,
  toolCalls: ToolCall[],
  model: string,
): RunOutcome {
  return {
    ok: true,
    result: {
      output,
      ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
      finish_reason: toolCalls.length > 0 && reason === 'stop' ? 'tool_calls' : reason,
      model: reported ?? model,
      usage: usageOf(metrics),
      raw_usage: metrics,
    },
  };
}

/** A count of 0 is omitted on the wire (`omitempty`), and so is that of a fully cached prompt. */
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
