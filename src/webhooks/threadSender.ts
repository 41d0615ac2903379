import { Worker } from 'node:worker_threads';
import type { WebhookSettings } from '../config/config.ts';
import { messageOf } from '../domain/errors.ts';
import type { SendOutcome, WebhookMessage, WebhookSender } from '../domain/webhook.ts';
import { Gathered } from '../lib/gathered.ts';
import { threadFile } from '../lib/threadFile.ts';
import type { SenderAnswer, SenderQuestion, SenderQuestions } from './senderThread.ts';

/** At most 64 messages are under way, of which the largest has some 20 KB. */
const heapMb = 64;

/**
 * Sends over HTTP from a thread of its own, which starts with the first message: connecting, signing and TLS take no time
 * of the thread that decides, which only hands over what one turn of its loop has to send.
 */
export class ThreadSender implements WebhookSender {
  readonly #settings: () => WebhookSettings;
  readonly #file: URL;
  readonly #sends = new Map<number, (outcome: SendOutcome) => void>();
  readonly #checks = new Map<number, (refusal: string | null) => void>();
  readonly #questions = new Gathered<SenderQuestion>((questions) => this.#ask(questions));
  #thread: Worker | null = null;
  #asked = 0;
  #isClosed = false;

  /** @param options.file of the thread, for tests. */
  constructor(options: { settings: () => WebhookSettings; file?: URL }) {
    this.#settings = options.settings;
    this.#file = options.file ?? threadFile('./senderThread.ts', import.meta.url);
  }

  refusal(url: string): Promise<string | null> {
    if (this.#isClosed) return Promise.resolve(stops);
    return new Promise((resolve) => {
      const id = this.#nextId();
      this.#checks.set(id, resolve);
      this.#questions.add({ id, url });
    });
  }

  send(message: WebhookMessage): Promise<SendOutcome> {
    if (this.#isClosed) return Promise.resolve(unsent(stops));
    return new Promise((resolve) => {
      const id = this.#nextId();
      this.#sends.set(id, resolve);
      this.#questions.add({ id, message });
    });
  }

  close(): void {
    this.#isClosed = true;
    const thread = this.#thread;
    this.#fail(stops);
    void thread?.terminate();
  }

  #nextId(): number {
    this.#asked += 1;
    return this.#asked;
  }

  #ask(questions: SenderQuestion[]): void {
    if (this.#isClosed) return;
    this.#thread ??= this.#start();
    this.#thread.postMessage({ questions, settings: this.#settings() } satisfies SenderQuestions);
  }

  #start(): Worker {
    const thread = new Worker(this.#file, {
      name: 'webhooks',
      resourceLimits: { maxOldGenerationSizeMb: heapMb, maxYoungGenerationSizeMb: 8 },
    });
    thread.unref();
    thread.on('message', (answers: SenderAnswer[]) => {
      for (const answer of answers) {
        if ('outcome' in answer) give(this.#sends, answer.id, answer.outcome);
        else give(this.#checks, answer.id, answer.refusal);
      }
    });
    // The next message starts another.
    thread.on('error', (error) => {
      if (this.#thread === thread) this.#fail(`it could not be sent: ${messageOf(error)}`);
    });
    return thread;
  }

  /** Nothing that was asked will be answered. */
  #fail(why: string): void {
    this.#thread = null;
    for (const id of [...this.#sends.keys()]) give(this.#sends, id, unsent(why));
    for (const id of [...this.#checks.keys()]) give(this.#checks, id, why);
  }
}

const stops = 'the coordinator stops';

function unsent(error: string): SendOutcome {
  return { status: null, error, retryAfter: null, ms: 0 };
}

function give<T>(waiting: Map<number, (answer: T) => void>, id: number, answer: T): void {
  waiting.get(id)?.(answer);
  waiting.delete(id);
}
