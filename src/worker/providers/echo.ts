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
  if (context.signal.aborted) return abortedOutcome(usageOf(job, ''));
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
  for (const word of wordsOf(job.output)) context.onText(word);
  return completed(job);
}

async function runSlowly(job: EchoJob, context: RunContext): Promise<RunOutcome> {
  const { delayMs, chunkMs, fail } = job.params;
  const words = fail ? [] : wordsOf(job.output);
  const stepsMax = Math.floor(delayMs / (chunkMs ?? fineStepMs));
  const steps = Math.max(1, chunkMs === null ? Math.min(words.length, stepsMax) : stepsMax);
  const begun = context.clock.monotonic();
  let said = '';
  let next = 0;
  for (let step = 1; step <= steps; step++) {
    const dueMs = begun + (delayMs * step) / steps;
    if (!(await pause(dueMs - context.clock.monotonic(), context))) return abortedOutcome(usageOf(job, said));
    const piece = words.slice(next, Math.floor((words.length * step) / steps)).join('');
    next = Math.floor((words.length * step) / steps);
    said += piece;
    if (piece !== '') context.onText(piece);
  }
  return fail ? failed(job) : completed(job);
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
  return {
    ok: true,
    result: {
      output: job.output,
      finish_reason: job.isCut ? 'length' : 'stop',
      model: job.model,
      usage: usageOf(job, job.output),
    },
  };
}

function failed(job: EchoJob): RunOutcome {
  const { fail, tokens } = job.params;
  if (!fail) return completed(job);
  return { ok: false, error: fail, usage: tokens ? usageOf(job, '') : undefined };
}

function refusal(message: string): RunOutcome {
  return { ok: false, error: { class: 'invalid_request', code: 'invalid_request', message, status: 400 } };
}

/** The usage after `said` was sent. */
function usageOf(job: EchoJob, said: string): Partial<WireUsage> {
  const given = job.params.tokens;
  const input = given?.input ?? job.source.counted.reduce((sum, text) => sum + countTokens(text), 0);
  const output = given?.output ?? countTokens(said);
  return { input_tokens: input, output_tokens: output, total_tokens: input + output };
}
