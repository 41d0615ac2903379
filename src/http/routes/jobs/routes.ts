import type { Route } from '../../route.ts';
import { dispatchBatch, dispatchJob } from './dispatch.ts';
import { exportJobs, listJobs } from './list.ts';
import { cancelJobs, retryJobs } from './many.ts';
import { cancelJob, getJob, getJobHistory, retryJob } from './one.ts';

/** /api/jobs. The router takes the first path that fits: `/api/jobs/export` stands before `/api/jobs/:id`. */
export const jobRoutes: readonly Route[] = [
  dispatchJob,
  dispatchBatch,
  listJobs,
  exportJobs,
  getJob,
  cancelJobs,
  retryJobs,
  getJobHistory,
  cancelJob,
  retryJob,
];
