import type { ReportedFailure } from '../../domain/failure.ts';
import type { ToolCall } from '../../domain/job.ts';
import type { Usage } from '../../domain/usage.ts';

/** A worker's last word on a lease. */
export type Outcome =
  | {
      type: 'complete';
      output: string;
      toolCalls?: ToolCall[] | undefined;
      finishReason: string;
      model: string | null;
      /** null: the provider did not tell it. */
      usage: Usage | null;
      rawUsage?: unknown;
      latencyMs: number;
      firstTokenMs: number | null;
    }
  | ({
      type: 'fail';
      failure: ReportedFailure;
      usage: Usage | null;
      model?: string | null | undefined;
    } & Begun)
  | { type: 'aborted'; usage: Usage | null; model?: string | null | undefined }
  | ({ type: 'release' } & Begun);

/** Whether the provider had begun to answer, so that it may charge for an attempt that brought nothing. */
interface Begun {
  begun?: boolean | undefined;
}

/** What the provider ran, by its worker's word; null when it does not say. */
export function modelOf(outcome: Outcome): string | null {
  return outcome.type === 'release' ? null : (outcome.model ?? null);
}

/** What the attempt used; null when the worker says nothing of it. */
export function usageOf(outcome: Outcome): Usage | null {
  return 'usage' in outcome ? outcome.usage : null;
}
