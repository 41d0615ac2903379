/**
 * The dictionary of states: one word per idea, the same in machines, store, JSON, dashboard and docs.
 *
 * A state of a machine is written as its path, `pending.ready`; the wire shows the first word, `pending`.
 */

/**
 * - `pending`    POST /api/jobs puts a job here, and so does everything that returns one: a failed attempt that may
 *                be retried, a reaped or released lease, a retry. The dispatcher takes it out (assign), or a cancel.
 *                A crash leaves it here, in its place in the queue.
 *                - `pending.ready`    is in its lane and can be claimed.
 *                - `pending.delayed`  waits for `not_before` or for a back-off; `job.due` moves it on.
 * - `running`    The dispatcher puts it here together with a lease; the worker's frames take it out, or a cancel, the
 *                job's timeout, or the reaper. A crash of the coordinator leaves it here: the worker continues.
 *                - `running.active`   its worker is connected.
 *                - `running.stuck`    its worker crashed or lost the connection; ends when the worker returns with
 *                                     the lease, when it is reaped, or by POST retry.
 * - `completed`  The accepted result of exactly one attempt. Final.
 * - `failed`     Nothing left to try; `error` says why. POST retry takes it back to `pending`.
 * - `cancelled`  A client ended it. Final.
 */
export const jobStatuses = ['pending', 'running', 'completed', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof jobStatuses)[number];

export const jobStates = [
  'pending.ready',
  'pending.delayed',
  'running.active',
  'running.stuck',
  'completed',
  'failed',
  'cancelled',
] as const;
export type JobState = (typeof jobStates)[number];

/** The states that are more precise than the status. */
export const innerStates = jobStates.filter((state) => state.includes('.'));

/** States in which a job has ended; only `failed` can be left again, by a retry. */
export const terminalStatuses: readonly JobStatus[] = ['completed', 'failed', 'cancelled'];

/**
 * A slot of a worker that a job has.
 * - `assigning`  a worker is chosen, the commit is under way. A crash leaves nothing of it.
 * - `running`    the worker has the job.
 * - `ending`     the job has ended without the worker's word (cancelled, timed out): the slot stays taken until that word,
 *                the worker's disconnect, or two heartbeat intervals.
 * - `ended`      the slot is free; nothing is in this state.
 */
export const leasePhases = ['assigning', 'running', 'ending', 'ended'] as const;

/**
 * - `active`        connected and takes work (`active.late`: one heartbeat missed, no new work until the next frame).
 * - `paused`        connected, an operator stopped new work. Survives reconnect and restart, by name.
 * - `draining`      connected, the worker itself stopped new work and finishes what runs.
 * - `disconnected`  known by name, not connected.
 */
export const workerStatuses = ['active', 'paused', 'draining', 'disconnected'] as const;
export type WorkerStatus = (typeof workerStatuses)[number];

/**
 * - `available`  accepts requests.
 * - `limited`    answered 429: nothing is sent until a time.
 * - `open`       too many of its attempts failed: nothing is sent until a time.
 * - `probing`    one job is sent to see whether it works again.
 */
export const providerStatuses = ['available', 'limited', 'open', 'probing'] as const;
export type ProviderStatus = (typeof providerStatuses)[number];

/**
 * One fault of a worker, at a provider or at one of its models.
 * - `well`    no fault.
 * - `aside`   passed over until a time: other workers are preferred.
 * - `due`     its next job is a trial.
 * - `trying`  the trial is running.
 */
export const healthStatuses = ['well', 'aside', 'due', 'trying'] as const;

/**
 * - `starting`    the process is up, the store is not open.
 * - `recovering`  the journal is replayed, leases get fresh grace; nothing is accepted.
 * - `accepting`   dispatch and assignments.
 * - `paused`      dispatch continues, no assignments.
 * - `draining`    dispatch answers 503, no assignments, results are accepted.
 * - `stopped`     the store is closed.
 */
export const supervisorStatuses = [
  'starting',
  'recovering',
  'accepting',
  'paused',
  'draining',
  'stopped',
] as const;
export type SupervisorStatus = (typeof supervisorStatuses)[number];

/** The word the wire shows for a state: its first part. */
export function statusOf(state: JobState): JobStatus {
  const dot = state.indexOf('.');
  return (dot < 0 ? state : state.slice(0, dot)) as JobStatus;
}

/** Whether a job in this state has ended. */
export function isTerminal(state: JobState): boolean {
  return state === 'completed' || state === 'failed' || state === 'cancelled';
}

/**
 * - `running`    its jobs are handed out, or it has none yet.
 * - `paused`     none of its waiting jobs starts; running ones continue. An operator did that, or one of its limits.
 * - `completed`  every job has ended, however it ended. More jobs, or a retry, start it again.
 * - `cancelled`  its jobs were cancelled and it takes no more. Final.
 */
export const runStatuses = ['running', 'paused', 'completed', 'cancelled'] as const;
export type RunStatus = (typeof runStatuses)[number];

/**
 * - `validating`  its file is read; no job is made before every line is known to be right.
 * - `in_progress` its lines become jobs, a part of them at a time, and run.
 * - `expiring`    its window is over: what waits is cancelled, what runs may end; then its files are written.
 * - `cancelling`  it was cancelled: its jobs are cancelled, then its files are written.
 * - `finalizing`  every line has its end: its files are written.
 * - `completed`   its files are there, whether its lines succeeded or not. Final.
 * - `failed`      its file was refused; nothing ran. Final.
 * - `expired`     as `completed`, but not every line was tried in time. Final.
 * - `cancelled`   as `completed`, with what had ended by then. Final.
 */
export const batchStatuses = [
  'validating',
  'in_progress',
  'expiring',
  'cancelling',
  'finalizing',
  'completed',
  'failed',
  'expired',
  'cancelled',
] as const;
export type BatchStatus = (typeof batchStatuses)[number];
