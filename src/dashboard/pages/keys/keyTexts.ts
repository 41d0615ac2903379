import type { Role } from '../../../domain/key.ts';

/** What a key of each role is for, as whoever makes one asks. */
export const rolePurposes: Record<Role, string> = {
  viewer: 'looks at everything and changes nothing',
  client: 'sends, cancels and retries jobs, and looks',
  operator: 'also pauses workers, resets providers and previews routing',
  admin: 'also makes and revokes keys, and reads the configuration',
  worker: 'connects workers, and nothing else',
  metrics: 'reads the figures for Prometheus, and nothing else',
};

/** How long the old secret of a rotated key may be taken, as it is chosen. */
export const graces = [
  { seconds: 0, label: 'End it at once' },
  { seconds: 3_600, label: '1 hour' },
  { seconds: 86_400, label: '1 day' },
  { seconds: 604_800, label: '7 days' },
] as const;

/** When a new key ends, as it is chosen; null for never. */
export const lifetimes = [
  { days: null, label: 'Never' },
  { days: 1, label: 'In 1 day' },
  { days: 30, label: 'In 30 days' },
  { days: 90, label: 'In 90 days' },
  { days: 365, label: 'In a year' },
] as const;

/**
 * What becomes of those who use a key that is revoked.
 * @param isLastAdmin no other key of the list is an admin's. @param isInFolder it is the one in the data folder.
 */
export function revokeConsequence(role: Role, isLastAdmin: boolean, isInFolder = false): string {
  if (role === 'worker')
    return 'Workers that use it are disconnected within a second, and the jobs that they run fail; a retry brings those back. It cannot be undone.';
  const lastOne = isLastAdmin
    ? 'It is the last admin key of the list: without it only the SVC_API_KEY that the coordinator is started with is one. '
    : '';
  const inFolder = isInFolder
    ? 'It is the key in admin.key of the data folder, which the command line on that machine uses. '
    : '';
  return `${lastOne}${inFolder}Every request with it is refused from now on, and pages that are open with it are signed out. Its jobs go on. It cannot be undone.`;
}
