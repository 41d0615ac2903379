import { get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { ExecutionContext } from 'ava';
import { environmentKey } from '../../support/api.ts';

export interface StreamEvent {
  id: string | null;
  event: string;
  data: Record<string, unknown> & { type: string; seq: number; data: Record<string, unknown> };
}

/** An event stream, read as a browser reads it. */
export class Stream {
  readonly events: StreamEvent[] = [];
  readonly comments: string[] = [];
  retry: string | null = null;
  status = 0;
  headers: IncomingHttpHeaders = {};
  readonly opened: Promise<number>;
  readonly ended: Promise<void>;
  #response: IncomingMessage | null = null;
  #watchers: (() => void)[] = [];
  #isOver = false;
  #rest = '';

  constructor(
    t: ExecutionContext,
    { port }: { port: number },
    path: string,
    headers: Record<string, string> = { authorization: `Bearer ${environmentKey}` },
  ) {
    const { promise: opened, resolve: open } = Promise.withResolvers<number>();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.opened = opened;
    this.ended = ended;
    const over = () => {
      this.#isOver = true;
      end();
      this.#wake();
    };
    const request = get({ host: '127.0.0.1', port, path, headers }, (response) => {
      this.#response = response;
      this.status = response.statusCode ?? 0;
      this.headers = response.headers;
      open(this.status);
      response.setEncoding('utf8');
      response.on('data', (text: string) => this.#read(text));
      response.on('error', over);
      response.on('close', over);
    });
    request.on('error', over);
    t.teardown(() => request.destroy());
  }

  /** Read nothing more. */
  pause(): void {
    this.#response?.pause();
  }

  /** The connection breaks. */
  destroy(): void {
    this.#response?.destroy();
  }

  async next(event: string, count = 1): Promise<StreamEvent> {
    for (;;) {
      const found = this.events.filter((one) => one.event === event)[count - 1];
      if (found !== undefined) return found;
      if (this.#isOver) throw new Error(`ended without ${event}`);
      await this.heard();
    }
  }

  /** Resolves when anything more has come. */
  heard(): Promise<void> {
    return new Promise((resolve) => this.#watchers.push(resolve));
  }

  #read(text: string): void {
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = block.split('\n').map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trimStart()] as const;
      });
      const field = (name: string) => fields.find(([key]) => key === name)?.[1] ?? null;
      const comment = field('');
      if (comment !== null) this.comments.push(comment);
      this.retry = field('retry') ?? this.retry;
      const event = field('event');
      if (event !== null)
        this.events.push({ id: field('id'), event, data: JSON.parse(field('data') ?? 'null') });
    }
    this.#wake();
  }

  #wake(): void {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const wake of watchers) wake();
  }
}
