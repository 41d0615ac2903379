import type { Coordinator } from '../coordinator/coordinator.ts';
import { leaseOf, type WorkerConnection, type WorkerLink } from '../coordinator/fleet/index.ts';
import type { Outcome } from '../coordinator/jobs/index.ts';

import type { Doer } from '../domain/audit.ts';
import { CoordinatorError } from '../domain/errors.ts';
import type { KeyBounds } from '../domain/key.ts';
import type { WorkerKey } from '../domain/worker.ts';
import {
  type Assignment,
  closeCodes,
  frameBytesMax,
  type HelloFrame,
  helloLengthMax,
  type OutcomeFrame,
  type OutcomesFrame,
  type WorkerFrame,
} from '../domain/workerProtocol.ts';
import type { EndReason } from '../lib/boundFigures.ts';
import { closeReason } from '../lib/closeReason.ts';
import type { Logger } from '../lib/log.ts';
import { type Socket, socketStates } from '../lib/socket.ts';
import { checkOutcome, parseFrame } from './frames.ts';
import { openGate, type ReadGate } from './readGate.ts';
import { OwnUnderWay } from './underWay.ts';
import { failureFromWire, keptModel, outcomeFromWire, partsFromWire, usageOrNull } from './words.ts';

/** Malformed frames before a connection is closed. */
const faultsMax = 5;
/** Frames that may wait while the hello is persisted. */
const waitingMax = 1000;
/** After a frame of this many characters reading pauses until then. */
const waitingLengthMax = 64 * 1024;
/** Bytes that the worker may leave unread; beyond it its connection is cut and its leases wait for its return. */
const unsentBytesMax = 64 * 1024 * 1024;

/** Room for the frame around the jobs of an assign frame, bytes. */
const assignFrameBytes = 64;

/** One socket of one worker: text in, validated frames to the coordinator; frames out, as text. */
export class WorkerSocket implements WorkerLink {
  readonly #socket: Socket;
  readonly #beforeSend: () => void;
  readonly #connection: WorkerConnection;
  readonly #logger: Logger;
  readonly #onEnded: (reason: EndReason) => void;
  readonly #gate: ReadGate;
  readonly #underWay: OwnUnderWay;
  #faults = 0;
  /** It has broken the protocol for good; frames that still arrive are ignored. */
  #isOut = false;
  #state: 'new' | 'joining' | 'ready' = 'new';
  /** Frames received while the hello is persisted. */
  #waiting: { frame: WorkerFrame; length: number }[] = [];
  #openAfterJoin: (() => void) | null = null;

  /**
   * @param options.key of the worker. @param options.by for the audit log.
   * @param options.gate pauses reading of the socket. @param options.underWay its frames that are not durable yet.
   * @param options.beforeSend called before each frame; a network collects those of one turn.
   * @param options.onEnded called when the coordinator ends the connection, and why.
   */
  constructor(options: {
    socket: Socket;
    key: WorkerKey;
    by?: Doer;
    gate?: ReadGate;
    underWay?: OwnUnderWay;
    beforeSend?: () => void;
    coordinator: Coordinator;
    logger: Logger;
    onEnded?: (reason: EndReason) => void;
  }) {
    const { socket, coordinator, logger, onEnded = () => {} } = options;
    this.#socket = socket;
    this.#beforeSend = options.beforeSend ?? (() => {});
    this.#logger = logger;
    this.#onEnded = onEnded;
    this.#gate = options.gate ?? openGate;
    this.#underWay = options.underWay ?? new OwnUnderWay();
    this.#connection = coordinator.connect(this, options.key, options.by);
    socket.on('message', (data, isBinary) => {
      try {
        if (this.#isOut) return;
        if (isBinary) this.#fault('frames must be text, this one is binary');
        else this.#receive(String(data));
      } catch (error) {
        // A bug; one frame must not end the coordinator.
        logger.error({ err: error, worker_id: this.#connection.workerId }, 'frame could not be handled');
        this.#fault('the frame could not be handled');
      }
    });
    socket.on('error', (error) => logger.warn({ error: error.message }, 'worker socket failed'));
    socket.on('close', (code) => coordinator.disconnect(this.#connection, code));
  }

  /** Whether its hello was received. */
  get hasGreeted(): boolean {
    return this.#state !== 'new';
  }

  send(frame: object): void {
    this.#write(JSON.stringify(frame));
  }

  assign(jobs: readonly Assignment[]): void {
    let parts: string[] = [];
    let bytes = assignFrameBytes;
    const flush = () => {
      if (parts.length > 0) this.#write(`{"type":"assign","jobs":[${parts.join(',')}]}`);
      parts = [];
      bytes = assignFrameBytes;
    };
    for (const job of jobs) {
      const text = JSON.stringify(job);
      const size = Buffer.byteLength(text) + 1;
      if (bytes + size > frameBytesMax) flush();
      parts.push(text);
      bytes += size;
    }
    flush();
  }

  close(code: number, reason: string): void {
    if (this.#socket.readyState === socketStates.open) this.#onEnded(code);
    this.#socket.close(code, closeReason(reason));
  }

  /** The key of the connection is no longer valid. */
  keyRefused(): void {
    this.#connection.keyRefused();
  }

  /** The bounds of the key have changed. */
  boundsChanged(bounds: KeyBounds | null): void {
    this.#connection.boundsChanged(bounds);
  }

  #write(text: string): void {
    if (this.#socket.readyState !== socketStates.open) return;
    if (this.#socket.bufferedAmount > unsentBytesMax) {
      this.#logger.warn(
        { worker_id: this.#connection.workerId },
        'the worker does not read; its connection is cut',
      );
      this.#onEnded('unread');
      this.#socket.terminate();
      return;
    }
    this.#beforeSend();
    this.#socket.send(text);
  }

  #receive(text: string): void {
    if (this.#state === 'new' && text.length > helloLengthMax) {
      this.#fault(`a hello must have at most ${helloLengthMax} characters`);
      return;
    }
    const frame = parseFrame(text);
    if (typeof frame === 'string') {
      this.#fault(frame);
      return;
    }
    const misplaced = this.#misplaced(frame);
    if (misplaced !== null) {
      this.#fault(misplaced);
    } else if (frame.type === 'hello') {
      this.#state = 'joining';
      void this.#hello(frame);
    } else if (this.#state === 'joining') {
      this.#waiting.push({ frame, length: text.length });
      if (text.length > waitingLengthMax) this.#openAfterJoin ??= this.#gate.hold();
    } else {
      this.#handle(frame, text.length);
    }
  }

  /** Why a well-formed frame is not allowed now; null when it is. */
  #misplaced({ type }: WorkerFrame): string | null {
    if (type === 'hello') return this.#state === 'new' ? null : 'hello must be sent only once';
    if (this.#state === 'new') return 'the first frame must be hello';
    return this.#state === 'joining' && this.#waiting.length >= waitingMax
      ? 'too many frames before the welcome'
      : null;
  }

  async #hello(frame: HelloFrame): Promise<void> {
    const { name, kind, providers, concurrency, models, tags, version, host, instance, running, free } =
      frame;
    const hello = {
      name,
      kind,
      // Without duplicates.
      providers: [...new Set(providers)],
      concurrency,
      models: models ?? {},
      tags: [...new Set(tags ?? [])],
      version: version ?? null,
      host: host ?? null,
      instance: instance ?? null,
    };
    try {
      await this.#connection.hello(hello, (running ?? []).map(leaseOf), { free, features: frame.features });
    } catch (error) {
      this.#logger.error({ err: error }, 'worker could not be registered');
      const code = error instanceof CoordinatorError ? error.code : 'internal_error';
      this.send({
        type: 'error',
        code,
        message: 'the coordinator cannot register workers now; connect again later',
      });
      this.close(closeCodes.tryAgainLater, code);
      return;
    }
    this.#state = 'ready';
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const next of waiting) this.#handle(next.frame, next.length);
    this.#openAfterJoin?.();
  }

  /** @param length of its text. */
  #handle(frame: WorkerFrame, length: number): void {
    const connection = this.#connection;
    connection.heard();
    switch (frame.type) {
      case 'heartbeat':
        connection.heartbeat(frame.running.map(leaseOf), frame.models);
        break;
      case 'chunk':
        connection.chunk(leaseOf(frame), frame.seq, partsFromWire(frame));
        break;
      case 'complete':
      case 'fail':
      case 'aborted':
      case 'release':
        void this.#underWay.during(length, connection.conclude(leaseOf(frame), outcomeOf(frame)));
        break;
      case 'outcomes':
        this.#outcomes(frame, length);
        break;
      case 'drain':
        connection.drain();
        break;
      case 'hello':
        break;
    }
  }

  /** Several outcomes: each as if it had a frame of its own. */
  #outcomes({ outcomes }: OutcomesFrame, length: number): void {
    const concluded: Promise<void>[] = [];
    for (const item of outcomes) {
      const frame = checkOutcome(item);
      if (typeof frame !== 'string')
        concluded.push(this.#connection.conclude(leaseOf(frame), outcomeOf(frame)));
      else if (!this.#isOut) this.#fault(frame);
    }
    void this.#underWay.during(length, Promise.all(concluded));
  }

  /** A frame that breaks the protocol: each is reported once, and too many close the connection. */
  #fault(message: string): void {
    this.#faults += 1;
    this.send({ type: 'error', code: 'bad_frame', message });
    const isNew = this.#state === 'new';
    this.#isOut = isNew || this.#faults >= faultsMax;
    if (isNew) this.close(closeCodes.badFrame, message);
    else if (this.#isOut) this.close(closeCodes.policyViolation, 'too many bad frames');
  }
}

function outcomeOf(frame: OutcomeFrame): Outcome {
  switch (frame.type) {
    case 'complete':
      return outcomeFromWire(frame.result);
    case 'fail':
      return {
        type: 'fail',
        failure: failureFromWire(frame.error),
        usage: usageOrNull(frame.usage),
        begun: frame.begun,
        model: keptModel(frame.model ?? null),
      };
    case 'aborted':
      return {
        type: 'aborted',
        usage: usageOrNull(frame.usage),
        model: keptModel(frame.model ?? null),
      };
    case 'release':
      return { type: 'release', begun: frame.begun };
  }
}
