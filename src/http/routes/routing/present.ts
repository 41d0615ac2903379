import type { RouteExplanation } from '../../../coordinator/dispatch/index.ts';
import { iso } from '../../../domain/wire/iso.ts';
import type { WireRouteExplanation } from '../../../domain/wire/routing.ts';

/** What the routing would do, as the API shows it. */
export function presentExplanation({ plan, members, picked }: RouteExplanation): WireRouteExplanation {
  return {
    strategy: plan.strategy,
    why: plan.why,
    rule: plan.rule,
    chosen: picked === null ? null : { provider: picked.target.provider, model: picked.model },
    members: members.map((member) => ({
      provider: member.target.provider,
      model: member.model,
      worker: member.target.worker,
      worker_tag: member.target.workerTag,
      state: member.state,
      outcome: member === picked ? 'chosen' : member.state === 'skipped' ? 'skipped' : 'not_needed',
      why: member.why,
      until: iso(member.until),
    })),
  };
}
