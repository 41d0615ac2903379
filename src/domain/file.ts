/** Files: what clients have uploaded for batches, and what batches have written. */

import type { JobCreator } from './job.ts';

/** What is known of a file. Its bytes are kept apart from it, and never change. */
export interface FileRecord {
  /** A UUID, which also names its bytes. */
  id: string;
  /** As its sender calls it. */
  name: string;
  /** What it is for, in the words of the API that took it. */
  purpose: string;
  bytes: number;
  /** Epoch ms. */
  createdAt: number;
  /** The key it belongs to. */
  createdBy: JobCreator | null;
  /** Epoch ms; null: it is kept until it is deleted. */
  expiresAt: number | null;
}

/** Files that there may be; more are refused. Their records are written whole with every checkpoint: some 30 MB. */
export const filesMax = 100_000;
