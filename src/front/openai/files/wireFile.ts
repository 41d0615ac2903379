import type { FileRecord } from '../../../domain/file.ts';
import { fileIdOf } from '../ids.ts';

/** A file as `/v1` shows it. */
export interface WireFile {
  id: string;
  object: 'file';
  bytes: number;
  /** Seconds since 1970, as all times of `/v1`. */
  created_at: number;
  /** Absent for one that is kept until it is deleted. */
  expires_at?: number;
  filename: string;
  purpose: string;
  /** Nothing is done with a file after its upload. */
  status: 'processed';
  status_details: null;
}

/** What is known of a file, as `/v1` shows it. */
export function wireFile({ id, bytes, createdAt, expiresAt, name, purpose }: FileRecord): WireFile {
  return {
    id: fileIdOf(id),
    object: 'file',
    bytes,
    created_at: Math.floor(createdAt / 1000),
    ...(expiresAt === null ? {} : { expires_at: Math.floor(expiresAt / 1000) }),
    filename: name,
    purpose,
    status: 'processed',
    status_details: null,
  };
}
