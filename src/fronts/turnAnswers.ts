import type { JobView } from '../coordinator/coordinator.ts';
import { presentJob } from '../present/job.ts';
import type { Answers } from './dispatchTurns.ts';
import { isAsMade } from './madeAnswer.ts';
import type { CoreTurn } from './messages.ts';
import { placeOf } from './placeOf.ts';

/** Gathers what one front is answered in a turn of the event loop, and sends it at the turn's end. */
export class TurnAnswers implements Answers {
  readonly #send: (text: string) => void;
  #turn: CoreTurn | null = null;
  readonly #creators = new Map<string, number>();
  readonly #waits = new Map<string, number>();

  constructor(send: (text: string) => void) {
    this.#send = send;
  }

  made(connection: number, view: JobView): void {
    const turn = this.#turnNow();
    const { job, waiting } = view;
    const { id, createdAt, life } = job;
    if (!isAsMade(job)) {
      turn.changed.push({ connection, id, text: JSON.stringify(presentJob(view)) });
      return;
    }
    turn.made.push({
      connection,
      id,
      createdAt,
      updatedAt: life.updatedAt,
      enqueuedAt: life.enqueuedAt,
      creator:
        job.createdBy === null
          ? null
          : placeOf(
              this.#creators,
              turn.creators,
              `${job.createdBy.keyId} ${job.createdBy.name}`,
              job.createdBy,
            ),
      waiting:
        waiting === null
          ? null
          : placeOf(this.#waits, turn.waits, `${waiting.reason} ${waiting.until} ${waiting.detail}`, waiting),
    });
  }

  returned(connection: number): void {
    this.#turnNow().returned.push(connection);
  }

  cut(connection: number): void {
    this.#turnNow().cut.push(connection);
  }

  #turnNow(): CoreTurn {
    if (this.#turn !== null) return this.#turn;
    const turn: CoreTurn = { made: [], changed: [], creators: [], waits: [], returned: [], cut: [] };
    this.#turn = turn;
    setImmediate(() => {
      this.#turn = null;
      this.#creators.clear();
      this.#waits.clear();
      this.#send(JSON.stringify(turn));
    });
    return turn;
  }
}
