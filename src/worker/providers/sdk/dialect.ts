import type { LanguageModelV4FinishReason } from '@ai-sdk/provider';
import type { ToolCall } from '../../../domain/job.ts';
import type { WireUsage } from '../../../domain/usage.ts';
import type { Fields } from '../../../lib/fields.ts';

/** The facts of a stream event that the SDK omits or changes. */
export interface EventFacts {
  /** An error in the middle of the answer, for the classifier. */
  error?: unknown;
  /** The provider's count so far; a later count replaces an earlier one. */
  usage?: Fields | undefined;
  /** `usage` was counted before the output: it does not bill an interrupted answer. */
  isEarlyUsage?: boolean;
  /** The model that the provider runs. */
  model?: string | undefined;
  /** Tool calls of a whole answer; used when the SDK found none. */
  toolCalls?: ToolCall[];
  /** Why the answer ended; used when the SDK failed at an irrelevant event. */
  finish?: LanguageModelV4FinishReason;
  /** Thoughts that the SDK does not pass on. */
  reasoning?: string;
  /** There was output, perhaps thoughts that the SDK does not pass on. */
  isProgress?: boolean;
  /** Nothing relevant follows it. */
  isLast?: boolean;
  /**
   * The answer is complete, though a count or a last event may follow: a server that sends nothing more is not waited
   * for.
   */
  isWhole?: boolean;
  /** An event of a kind that the protocol added later: the SDK's reading of it does not matter. */
  isUnknown?: boolean;
}

/** The details of a provider's protocol that the SDK does not cover. */
export interface Dialect {
  hear(event: Fields): EventFacts;
  usageOf(raw: Fields): Partial<WireUsage>;
  /**
   * The events of an answer that was not streamed; null when it is not an answer. Absent: only streams are accepted.
   */
  eventsOf?(answer: Fields): Fields[] | null;
  /** What completes an answer: the reason of its end, OpenAI's `[DONE]`, or either. */
  lastWord: 'reason' | 'done' | 'either';
}
