import type { JobRecord, JobResult, ToolCall } from '../../../domain/job.ts';
import { chatIdOf } from '../ids.ts';
import { metadataOf, servedModel, servedTier } from '../served.ts';

export const finishReasons = ['stop', 'length', 'tool_calls', 'content_filter'] as const;
export type FinishReason = (typeof finishReasons)[number];

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
  /** Absent when it has none. */
  metadata?: Readonly<Record<string, string>>;
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

/** The completion of a job that has its result. @param metadata in place of the job's own. */
export function completionOf(
  job: JobRecord,
  result: JobResult,
  asked: string,
  metadata: Readonly<Record<string, string>> = metadataOf(job),
): Completion {
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
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
}

/** Anything that OpenAI does not know is `stop`. */
export function finishReasonOf({ finishReason }: JobResult): FinishReason {
  return finishReasons.find((known) => known === finishReason) ?? 'stop';
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
