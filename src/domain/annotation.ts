/** What clients have changed about an answer after its job has ended: jobs themselves do not change then. */
export interface Annotation {
  jobId: string;
  /** The answer can no longer be read where it was deleted; the job and its cost remain. */
  isDeleted: boolean;
  /** In place of the job's own; null: that one. */
  metadata: Record<string, string> | null;
  /** Epoch ms of the last change. */
  at: number;
}

/**
 * Annotations that are kept, and characters of their metadata; beyond it the oldest are forgotten. They are written whole with
 * every checkpoint: some 25 MB at most.
 */
export const annotationsMax = 50_000;
export const annotationCharactersMax = 16 * 1024 * 1024;
