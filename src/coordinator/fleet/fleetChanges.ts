import type { WorkerLife } from '../../domain/worker.ts';

/** What the fleet reports to those who hand out jobs. */
export interface FleetListener {
  /** A worker that was passed over may be needed: another takes no more work, or its time is over. */
  needed(): void;
  /** A worker of these providers has come, or nothing is held against it any more. */
  well(providers: readonly string[]): void;
  /** A worker's connection has ended, and neither side has asked for that. */
  lost(worker: Pick<WorkerLife, 'id' | 'name'>): void;
}

/** The feed of what changes in the fleet. Who follows it is declared once, before anything is opened. */
export class FleetChanges implements FleetListener {
  #follower: FleetListener | null = null;

  followedBy(follower: FleetListener): void {
    this.#follower = follower;
  }

  needed(): void {
    this.#follower?.needed();
  }

  well(providers: readonly string[]): void {
    this.#follower?.well(providers);
  }

  lost(worker: Pick<WorkerLife, 'id' | 'name'>): void {
    this.#follower?.lost(worker);
  }
}
