import {
  APICallError,
  InvalidResponseDataError,
  JSONParseError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4FinishReason,
  type LanguageModelV4StreamPart,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import type { ToolCall } from '../../../domain/job.ts';
import type { WireUsage } from '../../../domain/usage.ts';
import { outputBytesMax, type WireFailure } from '../../../domain/workerProtocol.ts';
import { type Fields, isFields } from '../../../lib/fields.ts';
import { abortedOutcome, type FailedOutcome, type RunContext, type RunOutcome } from '../../provider.ts';
import { classify, type ErrorSource } from '../errors/classify.ts';
import { readErrorBody } from '../errors/errorBody.ts';
import {
  brokenStream,
  connectionFailure,
  filteredAnswer,
  incompleteStream,
  malformedStream,
  tooLargeOutput,
} from '../errors/failures.ts';
import { type Timeouts, TimeoutWatch } from '../http/timeoutWatch.ts';
import { RequestError } from '../request/chatMessages.ts';
import type { Dialect } from './dialect.ts';
import { SdkFetch } from './sdkFetch.ts';
import { ToolPieces } from './toolPieces.ts';

/** One call of a provider through its SDK. */
export interface SdkCall {
  model: (fetch: typeof globalThis.fetch) => LanguageModelV4;
  options: LanguageModelV4CallOptions;
  /** Changes the SDK's body into the body to send. */
  amend: (body: Fields) => Fields;
  dialect: Dialect;
  source: ErrorSource;
  /** Of the server, without user name and password. */
  address: string;
  /** The requested model. */
  modelName: string;
  timeouts: Timeouts;
  /** Of the configured address; added to every request. */
  query?: string;
  headers?: Readonly<Record<string, string>>;
}

/** Run one job through an SDK. It keeps the promises of `Provider.run`. */
export async function runSdk(call: SdkCall, context: RunContext): Promise<RunOutcome> {
  if (context.signal.aborted) return abortedOutcome();
  const watch = new TimeoutWatch(context.clock, call.timeouts, context.signal);
  const wire = new SdkFetch(watch, context.clock, call);
  const answer = new Answer(call, context, watch, wire);
  try {
    const { stream } = await call.model(wire.fetch).doStream({
      ...call.options,
      abortSignal: watch.signal,
      includeRawChunks: true,
    });
    return await answer.read(stream);
  } catch (error) {
    if (context.signal.aborted) return answer.aborted();
    const failure = answer.failureOf(error);
    // A bug of ours, or of the SDK before its request.
    if (failure === null) throw error;
    return answer.failed(failure);
  } finally {
    watch.end();
    wire.close();
  }
}

const finishReasons: Readonly<Record<LanguageModelV4FinishReason['unified'], string>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
  error: 'error',
  interrupted: 'other',
  other: 'other',
};

/** One answer as received so far. */
class Answer {
  readonly #call: SdkCall;
  readonly #context: RunContext;
  readonly #watch: TimeoutWatch;
  readonly #wire: SdkFetch;
  #output = '';
  readonly #toolPieces: ToolPieces;
  /** The tool calls of the whole answer, from its last event. */
  #reportedCalls: ToolCall[] = [];
  #rawUsage: Fields | null = null;
  /** Whether the count includes the output. */
  #isBilled = false;
  /** Whether there was any output, or thoughts. */
  #hasBegun = false;
  #model: string | null = null;
  /** Whether the last output was reasoning, and whether what follows is a thought of its own: a summary has several. */
  #isReasoning = false;
  #isNextThought = false;
  /** An error in the middle of the answer, which ends it. */
  #failure: WireFailure | null = null;
  #finish: LanguageModelV4FinishReason | null = null;
  /** The same, from the provider's last event. */
  #reportedFinish: LanguageModelV4FinishReason | null = null;
  /** Of the event that the SDK is reading. */
  #isUnknown = false;

  constructor(call: SdkCall, context: RunContext, watch: TimeoutWatch, wire: SdkFetch) {
    this.#call = call;
    this.#context = context;
    this.#watch = watch;
    this.#wire = wire;
    this.#toolPieces = new ToolPieces(context.onPart);
  }

  /** It was stopped from outside. */
  aborted(): FailedOutcome {
    return abortedOutcome(this.#usageSoFar(), this.#modelName);
  }

  failed(error: WireFailure): FailedOutcome {
    const usage = this.#usageSoFar();
    return { ok: false, error, usage, begun: this.#hasBegun, model: this.#modelName };
  }

  get #modelName(): string {
    return this.#model ?? this.#call.modelName;
  }

  /**
   * What an interruption now would cost, as far as known. Before the output was counted only the input is reported: a
   * first count of the output would be taken for the whole.
   */
  #usageSoFar(): Partial<WireUsage> | undefined {
    const reported = this.#reportedUsage();
    if (reported === undefined || this.#isBilled) return reported;
    const { output_tokens: _output, reasoning_tokens: _reasoning, total_tokens: _total, ...input } = reported;
    return input;
  }

  #reportedUsage(): Partial<WireUsage> | undefined {
    return this.#rawUsage === null ? undefined : this.#call.dialect.usageOf(this.#rawUsage);
  }

  async read(stream: ReadableStream<LanguageModelV4StreamPart>): Promise<RunOutcome> {
    const reader = stream.getReader();
    try {
      while (this.#failure === null && !this.#context.signal.aborted) {
        const { done, value } = await reader.read();
        if (done) break;
        this.#take(value);
      }
    } finally {
      // Closes the socket unless the stream has ended; nobody waits for the result.
      reader.cancel().catch(() => {});
    }
    const { signal } = this.#context;
    if (signal.aborted) return this.aborted();
    const error = this.#failure ?? this.#endFailure();
    return error === null ? this.#whole() : this.failed(error);
  }

  /** Why the SDK threw; null when only a bug explains it. */
  failureOf(error: unknown): WireFailure | null {
    const { source, address } = this.#call;
    const { failure, noStream } = this.#wire;
    if (failure?.kind === 'network' && this.#wire.hasBegun) return brokenStream(source.name, failure);
    if (failure !== null) return connectionFailure(source.name, address, failure);
    if (noStream !== null) {
      const { refusal, contentType } = noStream;
      const isRefusal = refusal.status !== 200 || readErrorBody(refusal.body).isError;
      return isRefusal
        ? this.#classified(refusal.status === 200 ? { ...refusal, status: null } : refusal)
        : malformedStream(source.name, `${contentType} in place of a stream`);
    }
    if (error instanceof RequestError) return badRequest(error.message);
    if (UnsupportedFunctionalityError.isInstance(error)) {
      return badRequest(`${source.name} does not support this: ${error.functionality}`);
    }
    // The SDKs of OpenAI and Anthropic look for an error before they return the stream.
    if (APICallError.isInstance(error) && error.responseBody !== undefined) {
      return this.#classified({ status: null, headers: {}, body: error.responseBody });
    }
    return this.#wire.hasBegun ? malformedStream(source.name, 'something that is not its protocol') : null;
  }

  #classified(refusal: Parameters<typeof classify>[0]): WireFailure {
    return classify(refusal, this.#call.source, this.#context.clock.now());
  }

  #take(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'raw':
        this.#isUnknown = false;
        if (isFields(part.rawValue)) this.#hear(part.rawValue);
        break;
      case 'text-delta':
        if (part.delta === '') break;
        this.#progress();
        this.#isReasoning = false;
        this.#output += part.delta;
        if (this.#output.length > outputBytesMax) this.#failure = tooLargeOutput(this.#call.source.name);
        else this.#context.onText(part.delta);
        break;
      case 'reasoning-start':
        this.#isNextThought = this.#isReasoning;
        break;
      case 'reasoning-delta':
        this.#reason(part.delta);
        break;
      case 'tool-input-start':
        // Calls that the provider runs itself do not concern the job.
        if (part.providerExecuted !== true) this.#toolPieces.begin(part.id, part.toolName);
        break;
      case 'tool-input-delta':
        this.#progress();
        this.#toolPieces.more(part.id, part.delta);
        break;
      case 'tool-call':
        if (part.providerExecuted !== true) {
          const { toolCallId: id, toolName: name, input } = part;
          this.#toolPieces.end({ id, type: 'function', function: { name, arguments: input } });
        }
        break;
      case 'response-metadata':
        this.#model ??= part.modelId ?? null;
        break;
      case 'finish':
        this.#finish = part.finishReason;
        // Without a reason it is not an error of the provider's, only an end without one.
        if (part.finishReason.unified === 'error' && part.finishReason.raw === undefined) {
          this.#finish = { unified: 'interrupted', raw: undefined };
        }
        break;
      case 'error':
        // The SDK for compatible servers throws this when the reason is missing; the end is judged below.
        if (InvalidResponseDataError.isInstance(part.error) && part.error.data === undefined) break;
        // An event without data is a sign of life: https://html.spec.whatwg.org/multipage/server-sent-events.html
        if (this.#isUnknown || (JSONParseError.isInstance(part.error) && part.error.text === '')) break;
        // The provider's own errors were already read from the event.
        this.#failure = malformedStream(this.#call.source.name, 'an event that is not of its protocol');
        break;
    }
  }

  #progress(): void {
    this.#hasBegun = true;
    this.#watch.progress();
  }

  #reason(text: string): void {
    this.#progress();
    if (text === '') return;
    this.#context.onPart({ type: 'reasoning', text: this.#isNextThought ? `\n\n${text}` : text });
    this.#isNextThought = false;
    this.#isReasoning = true;
  }

  #hear(event: Fields): void {
    const {
      error,
      reasoning,
      usage,
      isEarlyUsage = false,
      model,
      toolCalls = [],
      finish = null,
      isProgress = false,
      isLast,
      isWhole = false,
      isUnknown = false,
    } = this.#call.dialect.hear(event);
    this.#isUnknown = isUnknown;
    if (isProgress) this.#progress();
    if (reasoning !== undefined) this.#reason(reasoning);
    this.#reportedFinish ??= finish;
    if (usage !== undefined) {
      this.#rawUsage = { ...this.#rawUsage, ...given(usage) };
      this.#isBilled ||= !isEarlyUsage;
    }
    if (model !== undefined && model !== '') this.#model = model;
    if (toolCalls.length > 0) this.#reportedCalls = toolCalls;
    if (error !== undefined && error !== null) {
      this.#failure = this.#classified({ status: null, headers: {}, body: error });
    }
    if (isLast === true) this.#wire.endStream();
    else if (!isUnknown) this.#wire.endWhenQuiet(isWhole);
  }

  /** Why the answer is incomplete; null when it is complete. */
  #endFailure(): WireFailure | null {
    const { source, dialect } = this.#call;
    const finish = this.#ending;
    const hasReason = finish !== null && finish.unified !== 'interrupted';
    const isWhole = {
      reason: hasReason,
      done: this.#wire.isDone,
      either: hasReason || this.#wire.isDone,
    }[dialect.lastWord];
    if (this.#wire.garbage !== null) return this.#garbageFailure(this.#wire.garbage);
    if (!isWhole || finish === null) return incompleteStream(source.name);
    const reason = (finish.raw ?? finish.unified).toLowerCase();
    if (finish.unified === 'error') {
      return {
        class: 'server_error',
        code: reason,
        message: `${source.name} ended its answer with an error (${reason.slice(0, 60)})`,
      };
    }
    const isEmpty = this.#output === '' && this.#calls.length === 0;
    if (isEmpty && finish.unified === 'content-filter') {
      return filteredAnswer(source.name, finish.raw ?? 'content_filter');
    }
    if (isEmpty && reason === 'model_context_window_exceeded') {
      return this.#classified({
        status: null,
        headers: {},
        body: { error: { code: reason, message: reason } },
      });
    }
    return null;
  }

  /** Some proxies put their errors in place of the stream, and declare them a stream. */
  #garbageFailure(body: string): WireFailure {
    return readErrorBody(body).isError
      ? this.#classified({ status: null, headers: {}, body })
      : malformedStream(this.#call.source.name, 'something that is not its protocol');
  }

  get #ending(): LanguageModelV4FinishReason | null {
    const isReason = this.#finish !== null && this.#finish.unified !== 'interrupted';
    return isReason ? this.#finish : (this.#reportedFinish ?? this.#finish);
  }

  get #calls(): ToolCall[] {
    const { calls } = this.#toolPieces;
    return calls.length > 0 ? calls : this.#reportedCalls;
  }

  #whole(): RunOutcome {
    const calls = this.#calls;
    if (this.#toolPieces.calls.length === 0) for (const call of calls) this.#toolPieces.end(call);
    const finish = this.#ending?.unified ?? 'other';
    return {
      ok: true,
      result: {
        output: this.#output,
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
        // A tool that the job requires ends the answer with `stop` at OpenAI, any tool with some local servers.
        finish_reason: finishReasons[finish === 'stop' && calls.length > 0 ? 'tool-calls' : finish],
        model: this.#modelName,
        usage: this.#reportedUsage() ?? {},
        ...(this.#rawUsage === null ? {} : { raw_usage: this.#rawUsage }),
      },
    };
  }
}

function badRequest(message: string): WireFailure {
  return { class: 'invalid_request', code: 'invalid_request', message };
}

/** A missing count does not replace an earlier one. */
function given(usage: Fields): Fields {
  return Object.fromEntries(
    Object.entries(usage).filter(([, value]) => value !== null && value !== undefined),
  );
}
