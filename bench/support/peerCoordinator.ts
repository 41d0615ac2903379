import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Assignment, WorkerFrame } from '../../src/domain/workerProtocol.ts';
import type { Bench } from './scenario.ts';

const outcomeMsMax = 60_000;
const connectMsMax = 60_000;

/** What a job's life at the worker took. */
interface Finished {
  /** From the assign frame to the outcome's, ms. */
  ms: number;
  output: string;
}

interface Waiting {
  sentAt: number;
  resolve: (finished: Finished) => void;
  reject: (error: Error) => void;
}

/**
 * A coordinator that costs next to nothing: it says welcome, assigns what it is told to, acknowledges every outcome and
 * answers heartbeats. What is measured through it is the worker's time.
 */
export class PeerCoordinator {
  readonly url: string;
  /** Chunk frames that have come. */
  chunks = 0;
  readonly #connected = Promise.withResolvers<WebSocket>();
  readonly #waiting = new Map<string, Waiting>();
  #socket: WebSocket | null = null;
  #assigned = 0;

  private constructor(url: string, sockets: WebSocketServer) {
    this.url = url;
    sockets.on('connection', (socket) => {
      socket.on('message', (data: Buffer) => this.#onFrame(socket, data, performance.now()));
    });
  }

  static async listen(bench: Bench): Promise<PeerCoordinator> {
    const server = createServer((_request, response) => response.writeHead(404).end());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const sockets = new WebSocketServer({ server, path: '/ws/worker', perMessageDeflate: false });
    bench.defer(() => {
      for (const socket of sockets.clients) socket.terminate();
      server.close();
    });
    return new PeerCoordinator(`http://127.0.0.1:${port}`, sockets);
  }

  /** Resolves when a worker has said hello. */
  async ready(): Promise<void> {
    await within(this.#connected.promise, connectMsMax, 'no worker has connected');
  }

  /** Hand over a job; resolves with its completion. @throws when it fails, or nothing is heard of it. */
  run(job: Pick<Assignment, 'provider' | 'model' | 'prompt'>): Promise<Finished> {
    const socket = this.#socket;
    if (socket === null) throw new Error('no worker is connected');
    this.#assigned += 1;
    const id = `job-${this.#assigned}`;
    const whole: Assignment = {
      job_id: id,
      lease: 1,
      attempt: 1,
      input: null,
      messages: null,
      params: {},
      timeout_seconds: 600,
      ...job,
    };
    const text = JSON.stringify({ type: 'assign', jobs: [whole] });
    const finished = new Promise<Finished>((resolve, reject) => {
      this.#waiting.set(id, { sentAt: performance.now(), resolve, reject });
      socket.send(text);
    });
    return within(finished, outcomeMsMax, `nothing was heard of ${id}`);
  }

  /** Hand over a job that goes on until `abortAll`. */
  start(job: Pick<Assignment, 'provider' | 'model' | 'prompt'>): Promise<unknown> {
    return this.run(job).catch(() => null);
  }

  abortAll(): void {
    for (const id of this.#waiting.keys()) {
      this.#socket?.send(JSON.stringify({ type: 'abort', job_id: id, lease: 1, reason: 'cancelled' }));
    }
  }

  #onFrame(socket: WebSocket, data: Buffer, at: number): void {
    const text = data.toString();
    // Not parsed: two hundred streams make thousands of them a second.
    if (text.startsWith('{"type":"chunk"')) {
      this.chunks += 1;
      return;
    }
    const frame = JSON.parse(text) as WorkerFrame;
    switch (frame.type) {
      case 'hello':
        this.#socket = socket;
        socket.send(
          JSON.stringify({
            type: 'welcome',
            worker_id: 'w-1',
            paused: false,
            concurrency: frame.concurrency,
            heartbeat_interval_seconds: 10,
            server_time: new Date().toISOString(),
            lost: [],
          }),
        );
        this.#connected.resolve(socket);
        break;
      case 'heartbeat':
        socket.send('{"type":"heartbeat_ack","lost":[]}');
        break;
      case 'complete':
      case 'fail':
      case 'aborted': {
        const { job_id, lease } = frame;
        const waiting = this.#waiting.get(job_id);
        this.#waiting.delete(job_id);
        if (frame.type === 'complete') {
          waiting?.resolve({ ms: at - waiting.sentAt, output: frame.result.output });
        } else waiting?.reject(new Error(`${job_id}: ${text}`));
        socket.send(JSON.stringify({ type: 'ack', job_id, lease, accepted: true }));
        break;
      }
      default:
        break;
    }
  }
}

async function within<T>(promise: Promise<T>, ms: number, problem: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(problem)), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
