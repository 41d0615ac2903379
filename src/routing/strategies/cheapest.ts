import { least, type Strategy, takers } from '../member.ts';

/** The lowest price of those that can take the job now; an unknown price comes last, since it may be any. */
export const cheapest: Strategy = (members) =>
  least(takers(members), ({ price }) => price ?? Number.POSITIVE_INFINITY);
