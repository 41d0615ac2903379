import type { ErrorCode, FieldError } from '../errors.ts';
import type { JobStatus } from '../states.ts';

/** RFC 9457 problem document. */
export interface Problem {
  type: 'about:blank';
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  errors?: FieldError[];
  job_status?: JobStatus;
  request_id: string;
}
