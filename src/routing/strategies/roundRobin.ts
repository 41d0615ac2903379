import { type Strategy, takers } from '../member.ts';

/** Each in its turn, leaving out those that cannot take the job now. */
export const roundRobin: Strategy = (members, turn) => {
  const able = takers(members);
  return able[turn % Math.max(1, able.length)] ?? null;
};
