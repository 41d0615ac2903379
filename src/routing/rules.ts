import type { RoutingRule } from '../config/config.ts';
import type { JobRequest } from '../domain/job.ts';

/** Clients write this, or nothing, to leave the provider to the routing. */
const autoProvider = 'auto';

/** The provider that the job names, or null when routing decides. */
export function namedProvider({ provider }: JobRequest): string | null {
  return provider === autoProvider ? null : provider;
}

/**
 * The first rule that matches a job. A job that names its provider is only matched by rules that do not change it; they
 * may restrict the worker or set a model.
 */
export function ruleFor(
  request: JobRequest,
  rules: readonly RoutingRule[],
): { rule: RoutingRule; index: number } | null {
  const named = namedProvider(request);
  const index = rules.findIndex((rule) => isMet(request, rule) && (named === null || keepsTo(named, rule)));
  const rule = rules[index];
  return rule === undefined ? null : { rule, index };
}

function isMet(request: JobRequest, { match }: RoutingRule): boolean {
  const { tags, anyTags, provider, model, tier, priority } = match;
  return (
    (tags === undefined || tags.every((tag) => request.tags.includes(tag))) &&
    (anyTags === undefined || anyTags.some((tag) => request.tags.includes(tag))) &&
    (provider === undefined || provider === (request.provider ?? autoProvider)) &&
    (model === undefined || model === request.model) &&
    (tier === undefined || tier === request.tier) &&
    (priority === undefined || priority === request.priority)
  );
}

function keepsTo(named: string, { provider, chain }: RoutingRule): boolean {
  return chain === undefined && (provider === undefined || provider === named);
}
