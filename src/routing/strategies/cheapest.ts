import { least, runnable, type Strategy } from '../member.ts';

/** The lowest price of those that can take the job now; an unknown price is last, because it may be any. */
export const cheapest: Strategy = (members) =>
  least(runnable(members), ({ price }) => price ?? Number.POSITIVE_INFINITY);
