interface Waiting {
  keyId: string;
  resolve: () => void;
}

/**
 * ArrivalPlaces for connections that use much memory. One key gets at most half of them, so that it cannot block the workers
 * of other keys for long.
 */
export class ArrivalPlaces {
  readonly #max: number;
  readonly #maxOfKey: number;
  #taken = 0;
  readonly #takenByKey = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();

  constructor(max: number) {
    this.#max = max;
    this.#maxOfKey = Math.ceil(max / 2);
  }

  /**
   * Take a place, at once or as soon as there is one, in the order of the calls.
   * @param onTaken called once the place is taken, before this returns when one is free.
   * @returns a function that returns the place, or ends the wait for it.
   */
  take(keyId: string, onTaken: () => void): () => void {
    let isTaken = false;
    const waiting: Waiting = {
      keyId,
      resolve: () => {
        isTaken = true;
        onTaken();
      },
    };
    this.#waiting.add(waiting);
    this.#serve();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#waiting.delete(waiting);
      if (!isTaken) return;
      this.#count(keyId, -1);
      this.#serve();
    };
  }

  #serve(): void {
    for (const waiting of this.#waiting) {
      if (this.#taken >= this.#max) return;
      if ((this.#takenByKey.get(waiting.keyId) ?? 0) >= this.#maxOfKey) continue;
      this.#waiting.delete(waiting);
      this.#count(waiting.keyId, 1);
      waiting.resolve();
    }
  }

  #count(keyId: string, by: 1 | -1): void {
    this.#taken += by;
    const ofKey = (this.#takenByKey.get(keyId) ?? 0) + by;
    if (ofKey === 0) this.#takenByKey.delete(keyId);
    else this.#takenByKey.set(keyId, ofKey);
  }
}
