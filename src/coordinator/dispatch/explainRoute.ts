import { laneOf } from '../../domain/job.ts';
import type { Member } from '../../routing/member.ts';
import type { Plan } from '../../routing/router.ts';
import type { Candidates } from './candidates.ts';

/** What the routing would do with a job, and how it sees each candidate. */
export interface RouteExplanation {
  plan: Plan;
  members: readonly Member[];
  /** null when all of them are skipped: the job would wait. */
  picked: Member | null;
}

/** What becomes of a plan at this moment. Changes nothing. */
export function explainRoute(candidates: Candidates, plan: Plan): RouteExplanation {
  const [target, ...chain] = plan.candidates;
  const members = candidates.of({ target, chain });
  const lane = laneOf({ life: { strategy: plan.strategy, target, chain } });
  return { plan, members, picked: candidates.pick(plan, lane, members) };
}
