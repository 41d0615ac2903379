/** The requests that wait for each job now. Several share one when they have the same idempotency key. */
export class Audience {
  readonly #waiting = new Map<string, number>();

  enter(jobId: string): void {
    this.#waiting.set(jobId, (this.#waiting.get(jobId) ?? 0) + 1);
  }

  /** @returns whether nobody else waits for the job. */
  leave(jobId: string): boolean {
    const left = (this.#waiting.get(jobId) ?? 1) - 1;
    if (left > 0) this.#waiting.set(jobId, left);
    else this.#waiting.delete(jobId);
    return left <= 0;
  }
}
