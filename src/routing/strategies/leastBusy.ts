import { least, type Strategy, takers } from '../member.ts';

/** The one with the smallest share of its slots taken; the earlier in the chain of two equals. */
export const leastBusy: Strategy = (members) => least(takers(members), ({ load }) => load);
