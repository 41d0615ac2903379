/** `.ci/run` sets it: sweeps try all that they can, where `npm test` tries a part of it. */
export const isThorough = process.env.SVC_TEST_THOROUGH === '1';

/** How much of a sweep is tried: how many rounds, or every how many of its steps. */
export function depth(usual: number, thorough: number): number {
  return isThorough ? thorough : usual;
}
