import { manifest } from './projectFolder.ts';

/** The version of this program, from package.json. */
export const version: string = manifest.version;
