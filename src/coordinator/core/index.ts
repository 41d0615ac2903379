/*
 * What every room is built on: the feed of committed changes and who follows it, the supervisor that decides when jobs are
 * assigned and deadlines are swept, the deadlines, the events for people who watch, the audit log, and the inspector. Promises
 * that followers see changes in the order of their commits, core ones before anything leaves the process. A crash leaves
 * nothing of it but the audit log.
 */

export { Audit } from './audit.ts';
export { Changes, type Committed, type Follower } from './changes.ts';
export { type Deadline, Deadlines } from './deadlines.ts';
export {
  EventBus,
  type JobLiveEvent,
  type LiveEvent,
  providerEventType,
  statusEventType,
  type WorkerEventType,
} from './eventBus.ts';
export { Inspector, inspectOption, nothingInspected } from './inspector.ts';
export { storeRetryMs } from './storeRetry.ts';
export { Supervisor } from './supervisor.ts';
