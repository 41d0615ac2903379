import type { Clock } from '../domain/clock.ts';
import { ArrivalPlaces } from './places.ts';
import type { ReadGate } from './readGate.ts';

/** Bytes of a frame that may arrive without a place. Chunks, heartbeats and most outcomes are smaller. */
const freeBytes = 64 * 1024;
/** Bytes covered by a place of the first kind; larger frames need one of the second. */
const smallBytes = 1024 * 1024;
/** Frames of up to 1 MiB, and of up to 16 MiB, arriving at once: 256 MiB in all. */
const smallPlaces = 128;
const largePlaces = 8;
/**
 * How long a frame with a place may take to arrive, ms: three default heartbeats, after which the worker counts as
 * silent.
 */
const arrivalMs = 30_000;

/**
 * Bounds the memory of arriving frames: a WebSocket buffers a frame until its end, 16 MiB for each worker that sends
 * slowly or stops. Beyond 64 KiB a frame needs a place; without one its worker is not read.
 */
export class Arrivals {
  readonly #small = new ArrivalPlaces(smallPlaces);
  readonly #large = new ArrivalPlaces(largePlaces);
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * One connection.
   * @param options.onHeld called when it has to wait. @param options.onLate called when a frame takes too long.
   */
  connection(options: { keyId: string; gate: ReadGate; onHeld: () => void; onLate: () => void }): Arrival {
    return new Arrival(this.#clock, { small: this.#small, large: this.#large }, options);
  }
}

type Kind = 'small' | 'large';

/** The arriving frame of one connection. */
class Arrival {
  readonly #clock: Clock;
  readonly #places: Record<Kind, ArrivalPlaces>;
  readonly #options: { keyId: string; gate: ReadGate; onHeld: () => void; onLate: () => void };
  #bytes = 0;
  #kind: Kind | null = null;
  #letGo = () => {};

  constructor(
    clock: Clock,
    places: Record<Kind, ArrivalPlaces>,
    options: { keyId: string; gate: ReadGate; onHeld: () => void; onLate: () => void },
  ) {
    this.#clock = clock;
    this.#places = places;
    this.#options = options;
  }

  /** Bytes have arrived. */
  arrived(bytes: number): void {
    this.#bytes += bytes;
    const needed = this.#bytes > smallBytes ? 'large' : this.#bytes > freeBytes ? 'small' : null;
    if (needed !== null && needed !== this.#kind) this.#take(needed);
  }

  /** The frame is complete; or the connection has ended. */
  ended(): void {
    this.#bytes = 0;
    this.#kind = null;
    this.#letGo();
    this.#letGo = () => {};
  }

  #take(kind: Kind): void {
    const { keyId, gate, onHeld, onLate } = this.#options;
    const letGoOfFormer = this.#letGo;
    let cancelLate = () => {};
    let isTaken = false;
    let open = () => {};
    this.#kind = kind;
    const giveBack = this.#places[kind].take(keyId, () => {
      isTaken = true;
      letGoOfFormer();
      cancelLate = this.#clock.after(arrivalMs, onLate);
      open();
    });
    if (!isTaken) {
      open = gate.hold();
      onHeld();
    }
    this.#letGo = () => {
      cancelLate();
      giveBack();
      letGoOfFormer();
      open();
    };
  }
}
