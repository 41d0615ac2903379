import { manifest } from './projectFolder.ts';

/** The oldest Node that runs this program, `22.19`. */
export const nodeNeeded: string = manifest.engines.node.replace('>=', '');

/** Whether a version of Node is too old. @param own `22.19.0`; by default that of this process. */
export function isNodeTooOld(own: string = process.versions.node): boolean {
  const [major = 0, minor = 0] = nodeNeeded.split('.').map(Number);
  const [ownMajor = 0, ownMinor = 0] = own.split('.').map(Number);
  return ownMajor < major || (ownMajor === major && ownMinor < minor);
}
