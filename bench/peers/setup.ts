import { type Kind, kinds } from './queues/queue.ts';

/** What a process of a peer is told. */
export interface PeerSetup {
  kind: Kind;
  /** Of its Redis or PostgreSQL. */
  url: string;
  /** For a worker: jobs at once. */
  concurrency: number;
}

export function parsePeer(text: string): PeerSetup {
  const { kind, url, concurrency } = JSON.parse(text);
  const known = kinds.find((name) => name === kind);
  if (known === undefined) throw new TypeError(`there is no peer ${String(kind)}`);
  return { kind: known, url: String(url), concurrency: Number(concurrency) };
}
