import type { Encoding } from './encoding.ts';

/** The connection of one subscriber: a WebSocket or an event stream. */
export interface Outlet {
  readonly encoding: Encoding;
  /** The same without the number to resume from, for clients that store that by themselves. */
  readonly unnumbered: Encoding;
  /** Bytes written that the network has not accepted. */
  readonly unsentBytes: number;
  write(bytes: Buffer): void;
  /** Call `done` once, when everything written is accepted. Only used when more than 128 KiB are not. */
  onDrained(done: () => void): void;
  /** Called every 20 seconds: check that the other side is alive, or end. */
  ping(): void;
  end(code: number, reason: string): void;
}
