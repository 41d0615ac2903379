/*
 * The life of one job: how it comes in, the actor that decides each of its events, the commit that makes a decision
 * durable, and what becomes of an attempt that has ended. Promises that nothing is answered or leaves the process before it
 * is durable, and that one event of a job is in flight at a time. A crash leaves the last committed snapshot of each job.
 */

export { Admission } from './admission.ts';
export { Annotations } from './annotations.ts';
export { AttemptCosts } from './attemptCosts.ts';
export { Delays } from './delays.ts';
export { findJob } from './findJob.ts';
export { idOf, millisecondOf, shardOf, uuidv7 } from './ids.ts';
export type { HeldGroup } from './inFlight.ts';
export { Intake, type PlannedRequest, planOrRefuse } from './intake.ts';
export { JobCommands } from './jobCommands.ts';
export { type Creation, draftOf, JobHost, type NewJob } from './jobHost.ts';
export { JobWaits } from './jobWaits.ts';
export type { Outcome } from './outcome.ts';
export { Outcomes } from './outcomes.ts';
export { Pending } from './pending.ts';
export type { Step } from './step.ts';
