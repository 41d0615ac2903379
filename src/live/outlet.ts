import type { Encoding } from './encoding.ts';

/** The way to one subscriber: a WebSocket or an event stream. */
export interface Outlet {
  readonly encoding: Encoding;
  /** The same without the number to resume from, where a client keeps that by itself. */
  readonly unnumbered: Encoding;
  /** Bytes handed over that the other side has not taken. */
  readonly unsentBytes: number;
  write(bytes: Buffer): void;
  /** Call `done` once, when everything that was handed over is taken. Only asked for when more than 128 KiB are not taken. */
  onTaken(done: () => void): void;
  /** Called every 20 seconds: see whether the other side is alive, or end. */
  ping(): void;
  end(code: number, reason: string): void;
}
