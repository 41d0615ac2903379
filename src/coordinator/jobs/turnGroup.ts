import type { JobEvent } from '../../../machines/events.ts';
import type { JobRecord } from '../../domain/job.ts';
import type { HeldGroup } from './inFlight.ts';
import type { Applied, Step } from './step.ts';

/** Steps that are committed as one: their commit and what follows it take some 5 ms. */
const stepsPerCommit = 200;
/** Characters of their outputs. */
const outputPerCommit = 1024 * 1024;

/** What `apply` is asked for. */
export interface Asked {
  id: string;
  choose: (job: JobRecord) => readonly JobEvent[];
  resolve: (applied: Applied) => void;
  reject: (error: unknown) => void;
}

/** Steps that are committed together. */
export class TurnGroup {
  readonly held: HeldGroup;
  readonly steps: { asked: Asked; step: Step }[] = [];
  #output = 0;

  constructor(held: HeldGroup) {
    this.held = held;
  }

  get isFull(): boolean {
    return this.steps.length >= stepsPerCommit || this.#output >= outputPerCommit;
  }

  add(asked: Asked, step: Step): void {
    this.held.hold(asked.id);
    this.steps.push({ asked, step });
    this.#output += step.change.life.result?.output.length ?? 0;
  }
}
