import { least, runnable, type Strategy } from '../member.ts';

/** The one with the smallest share of its slots in use; of equals the earlier in the chain. */
export const leastBusy: Strategy = (members) => least(runnable(members), ({ load }) => load);
