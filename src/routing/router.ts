import type { Config, RoutingRule } from '../config/config.ts';
import type { JobRequest, StrategyName, Target } from '../domain/job.ts';
import { namedProvider, ruleFor } from './rules.ts';

/** Where a job may run: its candidates in order, and the strategy that picks one when it is assigned. */
export interface Plan {
  strategy: StrategyName;
  /** At least one. */
  candidates: [Target, ...Target[]];
  /** One sentence: what decided. */
  why: string;
  /** Index of the rule that decided, from 0; null for none. */
  rule: number | null;
}

/**
 * Decide where a job may run. Pure: same job, same configuration, same plan.
 * @returns null when nothing names a provider: not the job, no rule, no chain, no default.
 */
export function planRoute(request: JobRequest, config: Config): Plan | null {
  const met = ruleFor(request, config.routing.rules);
  const rule = met?.rule ?? null;
  const { providers, strategy, why } = membersOf(request, config, rule);
  const [first, ...rest] = providers.map(
    (provider): Target => ({
      provider,
      model: modelOf(request, rule),
      worker: rule?.worker ?? null,
      workerTag: rule?.workerTag ?? null,
    }),
  );
  if (first === undefined) return null;
  const byRule = met === null ? '' : ` (routing.rules[${met.index}])`;
  return { strategy, candidates: [first, ...rest], why: why + byRule, rule: met?.index ?? null };
}

function membersOf(
  request: JobRequest,
  { routing, jobs }: Config,
  rule: RoutingRule | null,
): { providers: string[]; strategy: StrategyName; why: string } {
  const named = namedProvider(request);
  if (named !== null) return { providers: [named], strategy: 'direct', why: `the job names ${named}` };
  if (rule?.provider !== undefined) {
    return { providers: [rule.provider], strategy: 'direct', why: `a rule names ${rule.provider}` };
  }
  const chain = rule?.chain ?? (routing.strategy === 'direct' ? undefined : routing.chain);
  if (chain !== undefined) {
    // A rule's chain under `direct` can only be tried in order.
    const strategy = routing.strategy === 'direct' ? 'fallback' : routing.strategy;
    return { providers: [...new Set(chain)], strategy, why: `strategy ${strategy} over ${chain.join(', ')}` };
  }
  const { defaultProvider } = jobs;
  return {
    providers: defaultProvider === null ? [] : [defaultProvider],
    strategy: 'direct',
    why: `jobs.default_provider is ${defaultProvider}`,
  };
}

/** A rule that matches on the model replaces it; any other sets one for jobs that name none. */
function modelOf(request: JobRequest, rule: RoutingRule | null): string | null {
  if (rule?.model === undefined) return request.model;
  return rule.match.model === undefined ? (request.model ?? rule.model) : rule.model;
}
