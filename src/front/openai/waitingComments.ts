import type { JobView } from '../../coordinator/coordinator.ts';
import { statusOf } from '../../domain/states.ts';
import { iso } from '../../domain/wire/iso.ts';
import type { HttpParts } from '../../http/parts.ts';

/** Between two comments while nothing else is sent. Proxies close what is idle for 15 s or more. */
const commentMs = 10_000;

/** Says in a stream, every ten seconds, why its job waits. */
export class WaitingComments {
  readonly #jobId: string;
  readonly #parts: HttpParts;
  readonly #say: (text: string) => void;
  #isOver = false;
  #cancel: () => void = () => {};

  constructor(jobId: string, parts: HttpParts, say: (text: string) => void) {
    this.#jobId = jobId;
    this.#parts = parts;
    this.#say = say;
  }

  /** Say it now if the job waits, and from now on. */
  begin(view: JobView): void {
    if (view.waiting !== null) this.#say(waitingText(view));
    this.#later();
  }

  end(): void {
    this.#isOver = true;
    this.#cancel();
  }

  #later(): void {
    if (this.#isOver) return;
    this.#cancel = this.#parts.clock.after(commentMs, () => {
      void this.#comment().catch((error: unknown) => {
        this.#parts.logger.debug({ err: error }, 'a stream could not say why its job waits');
      });
    });
  }

  async #comment(): Promise<void> {
    try {
      const view = await this.#parts.coordinator.job(this.#jobId);
      if (this.#isOver) return;
      this.#say(view.waiting === null ? statusOf(view.job.state) : waitingText(view));
    } finally {
      this.#later();
    }
  }
}

/** `queued position=7 reason=workers_busy`. */
function waitingText({ waiting }: JobView): string {
  const { position = null, reason = null, until = null } = waiting ?? {};
  const facts = [
    'queued',
    ...(position === null ? [] : [`position=${position}`]),
    ...(reason === null ? [] : [`reason=${reason}`]),
    ...(until === null ? [] : [`until=${iso(until)}`]),
  ];
  return facts.join(' ');
}
