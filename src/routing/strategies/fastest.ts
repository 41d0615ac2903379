import { least, runnable, type Strategy } from '../member.ts';

/** The shortest mean duration of those that can take the job now; an unmeasured one is first, to be measured. */
export const fastest: Strategy = (members) => least(runnable(members), ({ latencyMs }) => latencyMs ?? 0);
