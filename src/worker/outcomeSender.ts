import { outcomesMax } from '../domain/workerProtocol.ts';
import { Gathered } from '../lib/gathered.ts';

/** Characters of outcomes that share a frame: the coordinator reads one of 64 KiB without finding a place for it. */
const sharedLengthMax = 32 * 1024;

/** Sends outcomes: those of one turn of the event loop in few frames, if the coordinator can read that. */
export class OutcomeSender {
  readonly #send: (json: string) => void;
  readonly #gathered = new Gathered<string>((frames) => this.#sendAll(frames));
  isShared = false;

  constructor(send: (json: string) => void) {
    this.#send = send;
  }

  /** @param json a frame. */
  send(json: string): void {
    if (this.isShared) this.#gathered.add(json);
    else this.#send(json);
  }

  #sendAll(frames: readonly string[]): void {
    let group: string[] = [];
    let length = 0;
    const flush = () => {
      const [first = '', ...others] = group;
      // The connection may be another one since.
      const isAlone = others.length === 0 || !this.isShared;
      if (isAlone) for (const frame of group) this.#send(frame);
      else this.#send(`{"type":"outcomes","outcomes":[${first},${others.join(',')}]}`);
      group = [];
      length = 0;
    };
    for (const frame of frames) {
      if (length + frame.length > sharedLengthMax || group.length >= outcomesMax) flush();
      group.push(frame);
      length += frame.length;
    }
    flush();
  }
}
