import type { Strategy } from '../member.ts';

/** One provider and no other: the job waits for it, whatever its state. */
export const direct: Strategy = ([only]) => (only === undefined || only.state === 'skipped' ? null : only);
