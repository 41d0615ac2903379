import type { Role } from '../../../domain/key.ts';

/** The purpose of each role, for creating a key. */
export const rolePurposes: Record<Role, string> = {
  viewer: 'reads everything and changes nothing',
  client: 'also creates, cancels and retries jobs',
  operator: 'also pauses workers, resets providers and previews routing',
  admin: 'also creates and revokes keys, and reads the configuration',
  worker: 'connects workers, and nothing else',
  metrics: 'reads the figures for Prometheus, and nothing else',
};

/** Choices of how long the old secret of a rotated key stays valid. */
export const graces = [
  { seconds: 0, label: 'End it at once' },
  { seconds: 3_600, label: '1 hour' },
  { seconds: 86_400, label: '1 day' },
  { seconds: 604_800, label: '7 days' },
] as const;

/** Choices of when a new key expires; null for never. */
export const lifetimes = [
  { days: null, label: 'Never' },
  { days: 1, label: 'In 1 day' },
  { days: 30, label: 'In 30 days' },
  { days: 90, label: 'In 90 days' },
  { days: 365, label: 'In a year' },
] as const;

/**
 * What revoking a key does to its users.
 * @param isLastAdmin it is the only admin key of the list. @param isInFolder it is the one in the data folder.
 */
export function revokeConsequence(role: Role, isLastAdmin: boolean, isInFolder = false): string {
  if (role === 'worker')
    return 'Workers that use it are disconnected within a second, and their running jobs fail; you can retry those. This cannot be undone.';
  const lastOne = isLastAdmin
    ? 'It is the last admin key of the list: without it only the SVC_API_KEY that the coordinator is started with is one. '
    : '';
  const inFolder = isInFolder
    ? 'It is the key in admin.key of the data folder, which the command line on that machine uses. '
    : '';
  return `${lastOne}${inFolder}Every request with it is refused from now on, and pages signed in with it are signed out. Its jobs continue. This cannot be undone.`;
}
