import { runnable, type Strategy } from '../member.ts';

/** Each in its turn, without those that cannot take the job now. */
export const roundRobin: Strategy = (members, turn) => {
  const able = runnable(members);
  return able[turn % Math.max(1, able.length)] ?? null;
};
