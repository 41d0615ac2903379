import type { LanguageModelV4FinishReason } from '@ai-sdk/provider';
import type { ToolCall } from '../../../domain/job.ts';
import type { WireUsage } from '../../../domain/usage.ts';
import type { Fields } from '../../../lib/fields.ts';

/** What an event of the stream says that the SDK leaves out, or puts in its own words. */
export interface Heard {
  /** An error in the middle of the answer, for the classifier. */
  error?: unknown;
  /** The provider's count so far; what it counts anew overrules what it said before. */
  usage?: Fields | undefined;
  /** `usage` was counted before the output was: it is no bill of an answer that breaks off. */
  isEarlyUsage?: boolean;
  /** What the provider says it runs. */
  model?: string | undefined;
  /** Calls of tools in a whole answer; they count when the SDK has found none. */
  toolCalls?: ToolCall[];
  /** Why the answer has ended; it counts when the SDK has stumbled over an event that did not matter. */
  finish?: LanguageModelV4FinishReason;
  /** Something was put out, be it thoughts that the SDK does not hand on. */
  isProgress?: boolean;
  /** Nothing that matters comes after it. */
  isLast?: boolean;
  /** What has come is an answer, though a count or a last word may follow: a server that then says nothing is not waited for. */
  isWhole?: boolean;
  /** An event of a kind that came to the protocol later: it does not matter what the SDK makes of it. */
  isUnknown?: boolean;
}

/** How a provider speaks, as far as the SDK does not tell. */
export interface Dialect {
  hear(event: Fields): Heard;
  usageOf(raw: Fields): Partial<WireUsage>;
  /** The events of an answer that came whole and not as a stream; null when it is no answer. Left out: none is taken whole. */
  eventsOf?(answer: Fields): Fields[] | null;
  /**
   * Which word makes an answer whole: the reason of its end, or OpenAI's `[DONE]`, or either of them.
   */
  lastWord: 'reason' | 'done' | 'either';
}
