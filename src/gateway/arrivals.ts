import type { Clock } from '../domain/clock.ts';
import { Places } from './places.ts';
import type { ReadGate } from './readGate.ts';

/** Bytes of a frame that may arrive without a place. Chunks, heartbeats and most outcomes are smaller. */
const freeBytes = 64 * 1024;
/** Bytes that a place of the first kind is good for; whoever needs more takes one of the second. */
const smallBytes = 1024 * 1024;
/** Frames of up to 1 MiB, and of up to 16 MiB, that may be under way at once: 256 MiB in all. */
const smallPlaces = 128;
const largePlaces = 8;
/** How long a frame with a place may take to arrive, ms: three heartbeats of the default, after which the worker is silent. */
const arrivalMs = 30_000;

/**
 * Bounds the memory of frames that have begun to arrive: a WebSocket keeps all of a frame until its end, 16 MiB for each worker
 * that sends slowly or not on. Beyond 64 KiB a frame needs a place; without one nothing is read of its worker.
 */
export class Arrivals {
  readonly #small = new Places(smallPlaces);
  readonly #large = new Places(largePlaces);
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * One connection.
   * @param options.onHeld called when it has to wait. @param options.onLate called when a frame took too long.
   */
  connection(options: { keyId: string; gate: ReadGate; onHeld: () => void; onLate: () => void }): Arrival {
    return new Arrival(this.#clock, { small: this.#small, large: this.#large }, options);
  }
}

type Kind = 'small' | 'large';

/** The frame that is arriving over one connection. */
class Arrival {
  readonly #clock: Clock;
  readonly #places: Record<Kind, Places>;
  readonly #options: { keyId: string; gate: ReadGate; onHeld: () => void; onLate: () => void };
  #bytes = 0;
  #kind: Kind | null = null;
  #letGo = () => {};

  constructor(
    clock: Clock,
    places: Record<Kind, Places>,
    options: { keyId: string; gate: ReadGate; onHeld: () => void; onLate: () => void },
  ) {
    this.#clock = clock;
    this.#places = places;
    this.#options = options;
  }

  /** Bytes have come. */
  arrived(bytes: number): void {
    this.#bytes += bytes;
    const needed = this.#bytes > smallBytes ? 'large' : this.#bytes > freeBytes ? 'small' : null;
    if (needed !== null && needed !== this.#kind) this.#take(needed);
  }

  /** A frame is there whole; or the connection has ended. */
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
