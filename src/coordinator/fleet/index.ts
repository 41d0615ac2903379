/*
 * Who is connected here and what it holds: workers, their connections, health and keys, and the leases on their slots. Promises
 * that a worker holds no more leases than slots, but for a few of short jobs that it runs when a slot is free, and that a
 * lease ends with the worker's word, a deadline or a heartbeat that no longer lists it. A crash leaves workers and running jobs in the store; their leases are adopted with fresh grace.
 * It imports `limits` and types of `jobs`, and declares what it needs of those who hand out jobs (`FleetListener`, the
 * assigner of `WorkerConnection`).
 */

export { Connections } from './connections.ts';
export { createFleet } from './fleet.ts';
export { FleetChanges } from './fleetChanges.ts';
export { type FleetMember, isAble, isOpen, passOver, servedBy } from './fleetMember.ts';
export { LeaseKeeper } from './leaseKeeper.ts';
export { type Lease, Leases } from './leases.ts';
export { Liveness } from './liveness.ts';
export { RefusedWorkers } from './refusedWorkers.ts';
export type { WorkerAdmin } from './workerAdmin.ts';
export type { WorkerConnection } from './workerConnection.ts';
export { leaseOf, type WorkerLink } from './workerSession.ts';
export type { Workers } from './workers.ts';
