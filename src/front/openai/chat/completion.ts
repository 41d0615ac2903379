import { type JobRecord, type JobResult, lastAttempt, type ToolCall } from '../../../domain/job.ts';
import { sumCosts, toDollars } from '../../../domain/money.ts';
import { chatIdOf } from '../ids.ts';

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** OpenAI's counts. All of them are there even when the provider reports none: clients add them up unseen. */
export interface WireUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details: { cached_tokens: number };
  completion_tokens_details: { reasoning_tokens: number };
  /** The provider did not report them. Not a field of OpenAI's. */
  unknown?: true;
}

/** What every chunk of a stream and the whole completion have in common. */
export interface Heading {
  id: string;
  /** Epoch seconds. */
  created: number;
  /** Where the job ran, as a model that can be asked for again. */
  model: string;
  service_tier: string;
}

export interface Completion extends Heading {
  object: 'chat.completion';
  choices: [
    {
      index: 0;
      message: { role: 'assistant'; content: string | null; refusal: null; tool_calls?: ToolCall[] };
      finish_reason: FinishReason;
      logprobs: null;
    },
  ];
  usage: WireUsage;
}

/** @param asked the model as the client named it, for a job that has not run yet. */
export function headingOf(job: JobRecord, asked: string): Heading {
  return {
    id: chatIdOf(job.id),
    created: Math.floor(job.createdAt / 1000),
    model: servedModel(job) ?? asked,
    service_tier: servedTier(job),
  };
}

function servedModel({ life, request }: JobRecord): string | null {
  const attempt = lastAttempt(life);
  if (attempt === undefined) return null;
  const model = attempt.model ?? life.result?.model ?? request.model;
  return model === null ? attempt.provider : `${attempt.provider}/${model}`;
}

/** As OpenAI calls it. */
function servedTier({ request: { tier, priority } }: JobRecord): string {
  if (tier === 'batch') return 'flex';
  return tier ?? (priority === 'high' ? 'priority' : 'default');
}

/** The completion of a job that has its result. */
export function completionOf(job: JobRecord, result: JobResult, asked: string): Completion {
  const { output, toolCalls = [] } = result;
  const hasCalls = toolCalls.length > 0;
  const { id, created, model, service_tier } = headingOf(job, asked);
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: hasCalls && output === '' ? null : output,
          refusal: null,
          ...(hasCalls ? { tool_calls: toolCalls } : {}),
        },
        finish_reason: finishReasonOf(result),
        logprobs: null,
      },
    ],
    usage: usageOf(result),
    service_tier,
  };
}

const finishReasons: readonly string[] = [
  'stop',
  'length',
  'tool_calls',
  'content_filter',
] satisfies FinishReason[];

/** Anything that OpenAI does not know is `stop`. */
export function finishReasonOf({ finishReason }: JobResult): FinishReason {
  return finishReasons.includes(finishReason) ? (finishReason as FinishReason) : 'stop';
}

export function usageOf({ usage }: JobResult): WireUsage {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.totalTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    ...(usage.isPartial === true ? { unknown: true } : {}),
  };
}

/** What all attempts of a job cost, in dollars; null when none of it is known. */
export function costOf({ life }: JobRecord): number | null {
  return toDollars(sumCosts(life.attempts.map(({ cost }) => cost)).nanoDollars);
}
