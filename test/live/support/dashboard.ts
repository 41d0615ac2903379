import type { ExecutionContext } from 'ava';
import { WebSocket } from 'ws';
import { type ApiBundle, environmentKey } from '../../support/api.ts';

export interface Frame {
  type: string;
  seq: number;
  topic: string;
  gap?: boolean;
  code?: string;
  /** As the event or the snapshot has it. */
  data: Record<string, unknown> & { id?: string };
  [field: string]: unknown;
}

/** A dashboard's socket: what comes in is kept, and can be waited for. */
export class Dashboard {
  readonly socket: WebSocket;
  readonly frames: Frame[] = [];
  /** 101, or the status that refused it. */
  readonly opened: Promise<number>;
  /** The close code. */
  readonly closed: Promise<number>;
  #watchers: (() => void)[] = [];

  constructor(
    t: ExecutionContext,
    { port }: { port: number },
    {
      protocols = ['svc.v1'],
      headers = { authorization: `Bearer ${environmentKey}` },
      autoPong = true,
    }: { protocols?: string[]; headers?: Record<string, string>; autoPong?: boolean } = {},
  ) {
    this.socket = new WebSocket(`ws://127.0.0.1:${port}/ws`, protocols, { headers, autoPong });
    t.teardown(() => this.socket.terminate());
    this.socket.on('error', () => {});
    this.socket.on('message', (data) => {
      this.frames.push(JSON.parse(String(data)) as Frame);
      this.#wake();
    });
    this.closed = new Promise((resolve) => {
      this.socket.on('close', (code) => {
        resolve(code);
        this.#wake();
      });
    });
    this.opened = new Promise((resolve) => {
      this.socket.on('open', () => resolve(101));
      this.socket.on('unexpected-response', (_, response) => resolve(response.statusCode ?? 0));
    });
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === 'string' || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame));
  }

  /** The `count`th frame that fits, counted from 1. */
  async next(fits: string | ((frame: Frame) => boolean), count = 1): Promise<Frame> {
    const isIt = typeof fits === 'string' ? ({ type }: Frame) => type === fits : fits;
    for (;;) {
      const frame = this.frames.filter(isIt)[count - 1];
      if (frame !== undefined) return frame;
      if (this.socket.readyState === this.socket.CLOSED) throw new Error(`closed without ${fits}`);
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
    }
  }

  /** Subscribe and wait for the snapshot of each topic. */
  async subscribe(...topics: string[]): Promise<void> {
    this.send({ type: 'subscribe', topics });
    for (const topic of topics)
      await this.next((frame) => frame.type === 'snapshot' && frame.topic === topic);
  }

  /** Resolves when everything sent before it was answered. */
  async settled(): Promise<void> {
    const pongs = this.frames.filter(({ type }) => type === 'pong').length;
    this.send({ type: 'ping' });
    await this.next('pong', pongs + 1);
  }

  /** Types of the events of one job, in order. */
  typesOf(jobId: string): string[] {
    return this.frames
      .filter(({ type, data }) => type.startsWith('job.') && data.id === jobId)
      .map(({ type }) => type);
  }

  #wake(): void {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const wake of watchers) wake();
  }
}

/** A dashboard that is let in. */
export async function dashboard(
  t: ExecutionContext,
  bundle: ApiBundle,
  options: ConstructorParameters<typeof Dashboard>[2] = {},
): Promise<Dashboard> {
  const opened = new Dashboard(t, bundle, options);
  const status = await opened.opened;
  if (status !== 101) throw new Error(`refused with ${status}`);
  await opened.next('hello');
  return opened;
}
