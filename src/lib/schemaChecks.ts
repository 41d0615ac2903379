import { Worker } from 'node:worker_threads';
import { messageOf } from '../domain/errors.ts';
import { KeyedQueue } from './keyedQueue.ts';
import type { CheckAnswer, CheckQuestion } from './schemaCheckThread.ts';
import { threadFile } from './threadFile.ts';

const file = threadFile('./schemaCheckThread.ts', import.meta.url);
/** A check takes far less than a millisecond; a hostile expression in a schema would take for ever. */
const answerMs = 5_000;

/** A JSON Schema: an object, or `true` or `false`. */
export type JsonSchema = boolean | Readonly<Record<string, unknown>>;

/**
 * Checks texts against JSON Schemas in a thread of its own, which is started with the first check and stopped when one takes
 * too long: neither a long text nor a hostile schema keeps others waiting.
 */
export class SchemaChecks {
  readonly #queue = new KeyedQueue();
  readonly #answerMs: number;
  #thread: Worker | null = null;

  constructor(answerMsMax = answerMs) {
    this.#answerMs = answerMsMax;
  }

  /** What is wrong with a text, to follow "The answer"; null when it is JSON that the schema allows. Never rejects. */
  textFault(schema: JsonSchema, text: string): Promise<string | null> {
    return this.#ask({ schema: JSON.stringify(schema), text });
  }

  /** What is wrong with a schema, to follow its name; null when texts can be checked against it. Never rejects. */
  schemaFault(schema: JsonSchema): Promise<string | null> {
    return this.#ask({ schema: JSON.stringify(schema), text: null });
  }

  #ask(question: CheckQuestion): Promise<string | null> {
    return this.#queue.run('', () => this.#askNow(question));
  }

  #askNow(question: CheckQuestion): Promise<string | null> {
    this.#thread ??= this.#start();
    const thread = this.#thread;
    return new Promise((resolve) => {
      const end = (fault: string | null): void => {
        clearTimeout(timer);
        thread.off('message', answered);
        thread.off('error', failed);
        resolve(fault);
      };
      const answered = ({ fault }: CheckAnswer): void => end(fault);
      const failed = (error: unknown): void => {
        this.#thread = null;
        end(`could not be checked: ${messageOf(error)}`);
      };
      const timer = setTimeout(() => {
        this.#thread = null;
        void thread.terminate();
        end(`could not be checked against the schema within ${this.#answerMs / 1000} seconds`);
      }, this.#answerMs);
      thread.on('message', answered);
      thread.on('error', failed);
      thread.postMessage(question);
    });
  }

  #start(): Worker {
    const thread = new Worker(file, { resourceLimits: { maxOldGenerationSizeMb: 256 } });
    thread.unref();
    return thread;
  }
}
