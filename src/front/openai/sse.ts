import type { ServerResponse } from 'node:http';
import type { Principal } from '../../domain/key.ts';
import type { AnswerMemory, Hold } from '../../lib/answerMemory.ts';

/** Unread bytes beyond which nothing more is sent until the client has read all of them. */
const unsentBytesMax = 256 * 1024;

/** An event stream, whose events others write. What its client has not read is counted in the memory for answers. */
export class SseOutlet {
  readonly #response: ServerResponse;
  readonly #hold: Hold;
  #writtenBytes = 0;

  /** Sends status and headers at once. */
  constructor(
    response: ServerResponse,
    { principal, answers }: { principal: Principal; answers: AnswerMemory },
  ) {
    this.#response = response;
    this.#hold = answers.hold(principal, {
      held: () => response.writableLength,
      taken: () => this.#writtenBytes - response.writableLength,
      cut: () => response.destroy(),
    });
    response.once('close', () => this.#hold.release());
    response.on('error', () => {});
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      // A proxy must neither cache nor buffer it.
      'Cache-Control': 'no-store, no-transform',
      'X-Accel-Buffering': 'no',
    });
    response.flushHeaders();
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded;
  }

  /** Whether the client has to read first. */
  get isFull(): boolean {
    return this.#response.writableLength > unsentBytesMax;
  }

  write(text: string): void {
    if (!this.isOpen) return;
    this.#response.write(text);
    this.#writtenBytes += text.length;
    this.#hold.update();
  }

  /** As fast as the client reads, until it has gone. */
  async pour(pieces: Iterable<string>): Promise<void> {
    for (const piece of pieces) {
      await this.drained();
      if (!this.isOpen) return;
      this.write(piece);
    }
  }

  /** A line that clients skip: it keeps proxies from closing an idle connection. */
  comment(text: string): void {
    this.write(`: ${text}\n\n`);
  }

  /** Resolves when the client has read everything, or has gone. */
  async drained(): Promise<void> {
    if (!this.isOpen || !this.isFull) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const response = this.#response;
    response.once('drain', resolve).once('close', resolve);
    await promise;
    response.off('drain', resolve).off('close', resolve);
  }

  end(): void {
    if (this.isOpen) this.#response.end();
  }
}
