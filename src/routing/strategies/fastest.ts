import { least, type Strategy, takers } from '../member.ts';

/** The shortest mean time of those that can take the job now; one that was never measured goes first, to be measured. */
export const fastest: Strategy = (members) => least(takers(members), ({ latencyMs }) => latencyMs ?? 0);
