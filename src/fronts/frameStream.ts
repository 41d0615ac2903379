import type { Duplex } from 'node:stream';

const lengthBytes = 4;
const none = Buffer.alloc(0);

/** Sends and receives texts over a stream of bytes: each is its length in four bytes, and then itself in UTF-8. */
export class FrameStream {
  readonly #stream: Duplex;
  readonly #onFrame: (text: string) => void;
  /** Of a frame that has not come whole. */
  #rest: Buffer = none;

  constructor(stream: Duplex, onFrame: (text: string) => void) {
    this.#stream = stream;
    this.#onFrame = onFrame;
    stream.on('data', (bytes: Buffer) => this.#read(bytes));
  }

  send(text: string): void {
    if (!this.#stream.writable) return;
    const length = Buffer.byteLength(text);
    const frame = Buffer.allocUnsafe(lengthBytes + length);
    frame.writeUInt32BE(length);
    frame.write(text, lengthBytes);
    this.#stream.write(frame);
  }

  #read(bytes: Buffer): void {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let at = 0;
    while (all.length - at >= lengthBytes) {
      const end = at + lengthBytes + all.readUInt32BE(at);
      if (end > all.length) break;
      this.#onFrame(all.toString('utf8', at + lengthBytes, end));
      at = end;
    }
    this.#rest = at === all.length ? none : all.subarray(at);
  }
}
