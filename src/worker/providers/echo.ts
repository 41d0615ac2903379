import type { ReasoningPart, ToolCallPart } from '../../domain/chunkParts.ts';
import type { Clock } from '../../domain/clock.ts';
import type { WireUsage } from '../../domain/usage.ts';
import type { Assignment } from '../../domain/workerProtocol.ts';
import { abortedOutcome, type Provider, type RunContext, type RunOutcome } from '../provider.ts';
import { EchoParamError, type EchoParams, readEchoParams } from './echo/params.ts';
import { answerTo, countTokens, cutToTokens, type EchoSource, sourceOf, wordsOf } from './echo/text.ts';
import type { ProviderSettings } from './providerSettings.ts';

/**
 * The built-in provider: no network, no model, no cost. It answers deterministically that it is an echo, what the
 * prompt was, and how the input begins; it streams word by word and counts tokens by a fixed rule (`countTokens`).
 * For demonstrations, tests and load: jobs steer it by `params`.
 *
 * | param            | meaning                                                                                  |
 * |------------------|------------------------------------------------------------------------------------------|
 * | `echo_delay_ms`  | milliseconds the run takes, 0..86,400,000; the words come evenly over that time. Default 0 |
 * | `echo_chunk_ms`  | milliseconds between two pieces of a delayed output, at least 1; default: as many pieces as words, but never less than 10 ms apart |
 * | `echo_output`    | the exact output                                                                         |
 * | `echo_reasoning` | what it thinks: streamed before the output, and no part of it                           |
 * | `echo_tool_calls` | `[{name, arguments?, id?}]`: the tools that it calls, streamed after the output; `finish_reason` is `tool_calls` then. `arguments` is text, or a value that is sent as JSON |
 * | `echo_tokens`    | `{input, output}`: the usage to report                                                   |
 * | `echo_fail`      | an error class, or `{class, message?, status?, code?, retry_after_seconds?}`: fail after the delay. With `echo_tokens` the failure reports that usage, without it none |
 * | `max_tokens`     | cut the output after so many tokens; `finish_reason` is `length` then                    |
 *
 * Any other `echo_…` parameter, or a value that does not fit, fails the job with `invalid_request` and names it.
 * Without a delay a run sets no timer and ends within the same tick.
 */
export function createEcho(
  settings: Pick<ProviderSettings, 'name' | 'model'> = { name: 'echo', model: null },
): Provider {
  return {
    name: settings.name,
    kind: 'local',
    models: async () => null,
    probe: async () => null,
    run: async (assignment, context) =>
      run(assignment, context, assignment.model ?? settings.model ?? 'echo'),
  };
}

const fineStepMs = 10;

function run(assignment: Assignment, context: RunContext, model: string): RunOutcome | Promise<RunOutcome> {
  let params: EchoParams;
  try {
    params = readEchoParams(assignment.params);
  } catch (error) {
    if (error instanceof EchoParamError) return refusal(`echo: ${error.message}`);
    throw error;
  }
  const source = sourceOf(assignment);
  if (!source) return refusal('echo: the job has neither a prompt nor a message');
  const whole = params.output ?? answerTo(source);
  const output = params.maxTokens === null ? whole : cutToTokens(whole, params.maxTokens);
  const job: EchoJob = { params, source, output, model, isCut: output.length < whole.length };
  if (context.signal.aborted) return abortedOutcome(usageOf(job, nothing));
  return params.delayMs > 0 ? runSlowly(job, context) : runAtOnce(job, context);
}

interface EchoJob {
  params: EchoParams;
  source: EchoSource;
  output: string;
  model: string;
  isCut: boolean;
}

function runAtOnce(job: EchoJob, context: RunContext): RunOutcome {
  if (job.params.fail) return failed(job);
  for (const piece of piecesOf(job)) say(piece, context);
  return completed(job);
}

/** Text, or a piece of something else. */
type Piece = string | ReasoningPart | ToolCallPart;

/** Characters of a piece of a tool call. */
const argumentsMax = 12;

/** What it streams, a word at a time. */
function piecesOf({ params: { reasoning, toolCalls }, output }: EchoJob): Piece[] {
  const words = wordsOf(output);
  if (reasoning === '' && toolCalls.length === 0) return words;
  return [
    ...wordsOf(reasoning).map((text): Piece => ({ type: 'reasoning', text })),
    ...words,
    ...toolCalls.flatMap(({ id, function: { name, arguments: json } }, index): Piece[] => {
      const call = { type: 'tool_call', index } as const;
      const starts = Array.from(
        { length: Math.ceil(json.length / argumentsMax) },
        (_, i) => i * argumentsMax,
      );
      const pieces = starts.map((at) => ({ ...call, arguments: json.slice(at, at + argumentsMax) }));
      return [{ ...call, id, name, arguments: '' }, ...pieces];
    }),
  ];
}

function say(piece: Piece, { onText, onPart }: RunContext): void {
  if (typeof piece === 'string') onText(piece);
  else onPart(piece);
}

async function runSlowly(job: EchoJob, context: RunContext): Promise<RunOutcome> {
  const { delayMs, chunkMs, fail } = job.params;
  const pieces = fail ? [] : piecesOf(job);
  const stepsMax = Math.floor(delayMs / (chunkMs ?? fineStepMs));
  const steps = Math.max(1, chunkMs === null ? Math.min(pieces.length, stepsMax) : stepsMax);
  const begun = context.clock.monotonic();
  let next = 0;
  for (let step = 1; step <= steps; step++) {
    const dueMs = begun + (delayMs * step) / steps;
    if (!(await pause(dueMs - context.clock.monotonic(), context)))
      return abortedOutcome(usageOf(job, saidIn(pieces.slice(0, next))));
    const end = Math.floor((pieces.length * step) / steps);
    for (const piece of joined(pieces.slice(next, end))) say(piece, context);
    next = end;
  }
  return fail ? failed(job) : completed(job);
}

/** The same with words in a row as one piece. */
function joined(pieces: readonly Piece[]): Piece[] {
  const joined: Piece[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (typeof piece === 'string' && typeof last === 'string') joined[joined.length - 1] = last + piece;
    else joined.push(piece);
  }
  return joined;
}

/** @returns false when the run was aborted during the pause. */
function pause(ms: number, { clock, signal }: { clock: Clock; signal: AbortSignal }): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  return new Promise((resolve) => {
    const onAbort = (): void => {
      takeBack();
      resolve(false);
    };
    const takeBack = clock.after(Math.max(0, ms), () => {
      signal.removeEventListener('abort', onAbort);
      resolve(true);
    });
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

function completed(job: EchoJob): RunOutcome {
  const { reasoning, toolCalls } = job.params;
  const calls = toolCalls.map(({ function: called }) => called.arguments).join('');
  return {
    ok: true,
    result: {
      output: job.output,
      ...(toolCalls.length === 0 ? {} : { tool_calls: [...toolCalls] }),
      finish_reason: job.isCut ? 'length' : toolCalls.length > 0 ? 'tool_calls' : 'stop',
      model: job.model,
      usage: usageOf(job, { text: job.output, reasoning, calls }),
    },
  };
}

function failed(job: EchoJob): RunOutcome {
  const { fail, tokens } = job.params;
  if (!fail) return completed(job);
  return { ok: false, error: fail, usage: tokens ? usageOf(job, nothing) : undefined };
}

function refusal(message: string): RunOutcome {
  return { ok: false, error: { class: 'invalid_request', code: 'invalid_request', message, status: 400 } };
}

/** What was streamed, by its kind. */
interface Said {
  text: string;
  reasoning: string;
  calls: string;
}

const nothing: Said = { text: '', reasoning: '', calls: '' };

function saidIn(pieces: readonly Piece[]): Said {
  const said = { ...nothing };
  for (const piece of pieces) {
    if (typeof piece === 'string') said.text += piece;
    else if (piece.type === 'reasoning') said.reasoning += piece.text;
    else said.calls += piece.arguments;
  }
  return said;
}

/** The usage after `said` was streamed. */
function usageOf({ params, source }: EchoJob, said: Said): Partial<WireUsage> {
  const given = params.tokens;
  const input = given?.input ?? source.counted.reduce((sum, text) => sum + countTokens(text), 0);
  const reasoning = countTokens(said.reasoning);
  const output = given?.output ?? reasoning + countTokens(said.text) + countTokens(said.calls);
  return {
    input_tokens: input,
    output_tokens: output,
    ...(params.reasoning === '' || given !== null ? {} : { reasoning_tokens: reasoning }),
    total_tokens: input + output,
  };
}
