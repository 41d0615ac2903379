/** The requests that wait for each job now. Several share one when they have the same idempotency key. */
export class Audience {
  readonly #waiting = new Map<string, number>();

  /**
   * A request waits for a job, until it leaves or its client has gone.
   * @param onLast called when the client has gone and nobody else waits. @returns leaves; a second call does nothing.
   */
  enter(jobId: string, gone: AbortSignal, onLast: () => void): () => void {
    let isHere = true;
    this.#waiting.set(jobId, (this.#waiting.get(jobId) ?? 0) + 1);
    const leave = (): void => {
      if (!isHere) return;
      isHere = false;
      const left = (this.#waiting.get(jobId) ?? 1) - 1;
      if (left > 0) this.#waiting.set(jobId, left);
      else this.#waiting.delete(jobId);
      if (left <= 0 && gone.aborted) onLast();
    };
    gone.addEventListener('abort', leave, { once: true });
    if (gone.aborted) leave();
    return leave;
  }
}
