import type { Strategy } from '../member.ts';

/** Only one provider: the job waits for it, whatever its state. */
export const direct: Strategy = ([only]) => (only === undefined || only.state === 'skipped' ? null : only);
