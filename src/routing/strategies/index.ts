import type { StrategyName } from '../../domain/job.ts';
import type { Strategy } from '../member.ts';
import { cheapest } from './cheapest.ts';
import { direct } from './direct.ts';
import { fallback } from './fallback.ts';
import { fastest } from './fastest.ts';
import { leastBusy } from './leastBusy.ts';
import { roundRobin } from './roundRobin.ts';

/** Every strategy by its name in the configuration. */
export const strategies: Readonly<Record<StrategyName, Strategy>> = {
  direct,
  fallback,
  round_robin: roundRobin,
  least_busy: leastBusy,
  cheapest,
  fastest,
};
