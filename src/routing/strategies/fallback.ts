import type { Strategy } from '../member.ts';

/** The chain in order: the first that is not skipped. A busy one is waited for, because its slots become free. */
export const fallback: Strategy = (members) => members.find(({ state }) => state !== 'skipped') ?? null;
