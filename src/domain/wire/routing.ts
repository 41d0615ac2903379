import type { StrategyName } from '../job.ts';
import type { Iso } from './iso.ts';

/** Answer of POST /api/route/explain. */
export interface WireRouteExplanation {
  strategy: StrategyName;
  /** What decided, in one sentence. */
  why: string;
  /** Index of the rule that decided, from 0; null for none. */
  rule: number | null;
  /** The target that would run the job now, or that it would wait for; null when every member is skipped. */
  chosen: { provider: string; model: string | null } | null;
  members: {
    provider: string;
    model: string | null;
    worker: string | null;
    worker_tag: string | null;
    state: 'ready' | 'busy' | 'skipped';
    outcome: 'chosen' | 'skipped' | 'not_needed';
    why: string;
    until: Iso | null;
  }[];
}
