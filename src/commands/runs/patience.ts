import { ApiError } from '../../client/client.ts';
import { Outage } from '../../client/outage.ts';
import { pause } from '../../client/pause.ts';
import { messageOf } from '../../domain/errors.ts';
import { plainLine } from '../../lib/plainText.ts';

/** Repeats requests while the coordinator is away, for two minutes, or takes no more jobs, for as long as that lasts. */
export class Patience {
  readonly #outage: Outage;
  readonly #signal: AbortSignal;
  readonly #say: (text: string) => void;
  #said = '';
  #isBlocked = false;

  /**
   * @param hasAnswered whether to wait for a coordinator that is away at the first request too.
   * @param say is called once for each reason to wait.
   */
  constructor(signal: AbortSignal, say: (text: string) => void, hasAnswered: boolean) {
    this.#outage = new Outage(hasAnswered);
    this.#signal = signal;
    this.#say = say;
  }

  /** Whether it waits because the queue is full. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** @throws what the request throws, unless that is temporary; the signal's reason when that aborts. */
  async ask<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    for (;;) {
      this.#signal.throwIfAborted();
      try {
        const answer = await request(this.#signal);
        this.#outage.answered();
        this.#said = '';
        this.#isBlocked = false;
        return answer;
      } catch (error) {
        const queueMs = pauseForQueue(error);
        this.#isBlocked = queueMs !== null;
        const ms = queueMs ?? this.#outage.pauseAfter(error);
        const why = plainLine(messageOf(error));
        if (why !== this.#said) this.#say(`${why}; retrying`);
        this.#said = why;
        await pause(ms, this.#signal);
      }
    }
  }
}

/** A full queue empties as jobs end, however long that takes. */
function pauseForQueue(error: unknown): number | null {
  if (!(error instanceof ApiError) || error.code !== 'queue_full') return null;
  return (error.retryAfterSeconds ?? 1) * 1000;
}
