import { manifestName } from '../store/json/layout.ts';

/** The last file of a backup: what is in it, and by what it is checked. */
export const contentsName = 'backup.json';

/** The version of the form of a backup. */
export const backupForm = 1;

/** A file of a backup. */
export interface BackupFile {
  name: string;
  bytes: number;
  /** Hexadecimal. */
  sha256: string;
}

/** What `backup.json` says. */
export interface BackupContents {
  backup: number;
  /** Of the program that made it. */
  version: string;
  /** Of the data folder. */
  format: number;
  /** The last record of the journal in it. */
  seq: number;
  /** ISO 8601. */
  taken_at: string;
  files: BackupFile[];
}

/** Names that a backup may have: what is in a data folder, and nothing beside it. */
const names =
  /^(admin\.key|(journal|jobs|cost|audit|archive)\/[\w-]+\.(json|ndjson|idx)|files\/[\w-]+\.bin)$/;

/** Whether a restore writes a file of this name. */
export function isBackupName(name: string): boolean {
  return name === manifestName || name === contentsName || names.test(name);
}
