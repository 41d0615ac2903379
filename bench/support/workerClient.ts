import { performance } from 'node:perf_hooks';
import { WebSocket } from 'ws';
import {
  type AbortFrame,
  type AckFrame,
  type Assignment,
  type CoordinatorFrame,
  type WelcomeFrame,
  type WireFailure,
  workerSubprotocol,
} from '../../src/domain/workerProtocol.ts';
import { served } from './jobs.ts';
import { apiKey } from './processes.ts';
import type { Bench } from './scenario.ts';

const result = JSON.stringify({
  output: 'This is an echo. The customer cannot sign in since the update and asks for a new link.',
  finish_reason: 'stop',
  model: 'echo',
  usage: { input_tokens: 64, output_tokens: 18, total_tokens: 82 },
  latency_ms: 1,
});

/** Workers that this process has made: each has a name of its own. */
let made = 0;

interface Watch {
  /** Told each assignment with the moment of its frame, ms of `performance.now()`. */
  onAssign?: (job: Assignment, at: number) => void;
  onAbort?: (abort: AbortFrame, at: number) => void;
  /** How an attempt fails instead; null when it completes. */
  fail?: (job: Assignment) => WireFailure | null;
}

/**
 * A worker that costs next to nothing: it completes what it is given at once, as far as it is allowed to, and holds the
 * rest. So a measured time is the coordinator's, and a round ends exactly where it should.
 */
export class WorkerClient {
  readonly #socket: WebSocket;
  readonly #watch: Watch;
  readonly #held = new Map<string, Assignment>();
  readonly #running = new Map<string, number>();
  #allowed = 0;
  #acked = 0;
  #waiting: { acked: number; resolve: () => void; reject: (error: Error) => void } | null = null;
  #beat: NodeJS.Timeout | null = null;

  private constructor(socket: WebSocket, watch: Watch) {
    this.#socket = socket;
    this.#watch = watch;
  }

  /** Connect and say hello; resolves with the welcome. */
  static connect(
    bench: Bench,
    url: string,
    slots: number,
    watch: Watch = {},
    provider = served,
  ): Promise<WorkerClient> {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/ws/worker`, workerSubprotocol, {
      headers: { authorization: `Bearer ${apiKey}` },
      perMessageDeflate: false,
    });
    const client = new WorkerClient(socket, watch);
    made += 1;
    const name = `bench-${process.pid}-${made}`;
    bench.defer(() => client.close());
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.once('close', (code) => {
        const error = new Error(`the worker's socket was closed with ${code}`);
        reject(error);
        client.#waiting?.reject(error);
      });
      socket.once('open', () => {
        const kind = 'local';
        client.#send({
          type: 'hello',
          name,
          kind,
          providers: [provider],
          concurrency: slots,
        });
      });
      socket.on('message', (data) => client.#receive(String(data), performance.now(), () => resolve(client)));
    });
  }

  /** Jobs it has and was not allowed to complete. */
  get held(): number {
    return this.#held.size;
  }

  /** Outcomes the coordinator has taken. */
  get acked(): number {
    return this.#acked;
  }

  /** Complete up to `jobs` more. */
  allow(jobs: number): void {
    this.#allowed += jobs;
    for (const job of this.#held.values()) {
      if (this.#allowed <= 0) break;
      this.#held.delete(job.job_id);
      this.#complete(job);
    }
  }

  /**
   * Complete `jobs` more; resolves when the coordinator has acked all of them.
   * @throws when the connection ends, or an outcome is refused.
   */
  async work(jobs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting = { acked: this.#acked + jobs, resolve, reject };
    this.allow(jobs);
    await promise;
  }

  /** Send a piece of the output of a job that is held. @param seq from 1. */
  say({ job_id: jobId, lease }: Assignment, seq: number, text: string): void {
    this.#send({ type: 'chunk', job_id: jobId, lease, seq, text });
  }

  /** Complete a job that is held, with the output that was said. */
  finish({ job_id: jobId, lease }: Assignment, output: string): void {
    this.#held.delete(jobId);
    const ended = { ...(JSON.parse(result) as object), output };
    this.#send({ type: 'complete', job_id: jobId, lease, result: ended });
  }

  close(): void {
    if (this.#beat !== null) clearInterval(this.#beat);
    this.#socket.removeAllListeners('close');
    this.#socket.terminate();
  }

  #receive(text: string, at: number, onWelcome: () => void): void {
    const frame: CoordinatorFrame = JSON.parse(text);
    if (frame.type === 'assign') for (const job of frame.jobs) this.#take(job, at);
    else if (frame.type === 'ack') this.#acknowledged(frame);
    else if (frame.type === 'abort') this.#abort(frame, at);
    else if (frame.type === 'welcome') {
      this.#welcome(frame);
      onWelcome();
    }
  }

  #welcome({ heartbeat_interval_seconds: seconds }: WelcomeFrame): void {
    this.#beat = setInterval(() => {
      const running = [...this.#running].map(([jobId, lease]) => ({ job_id: jobId, lease }));
      this.#send({ type: 'heartbeat', running });
    }, seconds * 1000);
  }

  #take(job: Assignment, at: number): void {
    this.#running.set(job.job_id, job.lease);
    this.#watch.onAssign?.(job, at);
    if (this.#allowed > 0) this.#complete(job);
    else this.#held.set(job.job_id, job);
  }

  #complete(job: Assignment): void {
    const { job_id: jobId, lease } = job;
    this.#allowed -= 1;
    const error = this.#watch.fail?.(job) ?? null;
    if (error !== null) {
      this.#send({ type: 'fail', job_id: jobId, lease, error });
      return;
    }
    this.#socket.send(`{"type":"complete","job_id":"${jobId}","lease":${lease},"result":${result}}`);
  }

  #acknowledged({ job_id: jobId, accepted, reason }: AckFrame): void {
    this.#running.delete(jobId);
    if (!accepted) this.#waiting?.reject(new Error(`an outcome was refused: ${reason}`));
    this.#acked += 1;
    if (this.#waiting === null || this.#acked < this.#waiting.acked) return;
    this.#waiting.resolve();
    this.#waiting = null;
  }

  #abort(frame: AbortFrame, at: number): void {
    this.#held.delete(frame.job_id);
    this.#watch.onAbort?.(frame, at);
    this.#send({ type: 'aborted', job_id: frame.job_id, lease: frame.lease });
  }

  #send(frame: object): void {
    this.#socket.send(JSON.stringify(frame));
  }
}
