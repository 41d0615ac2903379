import { cancelJobs } from './cancelJobs.ts';
import { costReport } from './costReport.ts';
import { getJob } from './getJob.ts';
import { listJobs } from './listJobs.ts';
import { queueStatus } from './queueStatus.ts';
import { retryJob } from './retryJob.ts';
import { submitJob } from './submitJob.ts';
import { submitJobs } from './submitJobs.ts';
import type { Tool } from './tool.ts';

/** The tools in the order in which clients list them, which stays the same: clients keep lists in their caches. */
export const tools: readonly Tool[] = [
  submitJob,
  submitJobs,
  getJob,
  listJobs,
  cancelJobs,
  retryJob,
  costReport,
  queueStatus,
];
