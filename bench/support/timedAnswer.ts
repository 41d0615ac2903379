import type { ServerResponse } from 'node:http';
import { openaiChat, usageOf } from '../../test/fixtures/providers/openaiChat.ts';
import { now } from './messages.ts';
import type { Timing } from './providers.ts';

/** A token that says when it was sent, so that whoever reads it knows how long it took. */
export function stampedToken(): string {
  return `@${now().toFixed(2)} `;
}

/** Tokens in any text, also in JSON, with the moment of each. */
export const stampPattern = /@(\d+\.\d+) /g;

/**
 * Answer a chat completion as a model of OpenAI's would that needs as long as `timing` says: streamed if that was asked
 * for, else whole, after the time that its stream would have taken.
 */
export function answerInTime(response: ServerResponse, body: Record<string, unknown>, timing: Timing): void {
  if (body.stream === true) new TimedStream(response, body, timing).begin();
  else answerWhole(response, body, timing);
}

function answerWhole(
  response: ServerResponse,
  { model }: Record<string, unknown>,
  { waitMs, tokens, paceMs }: Timing,
): void {
  const timer = setTimeout(
    () => {
      const content = Array.from({ length: tokens }, stampedToken).join('');
      const completion = {
        id: 'chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG',
        object: 'chat.completion',
        created: 1_795_251_600,
        model,
        choices: [
          { index: 0, message: { role: 'assistant', content }, logprobs: null, finish_reason: 'stop' },
        ],
        usage: usageOf({ prompt: 26, completion: tokens }),
      };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(completion));
    },
    waitMs + (tokens - 1) * paceMs,
  );
  response.once('close', () => clearTimeout(timer));
}

class TimedStream {
  readonly #response: ServerResponse;
  readonly #timing: Timing;
  readonly #script: ReturnType<typeof openaiChat.script>;
  #nextAt = now();
  #sent = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(response: ServerResponse, body: Record<string, unknown>, timing: Timing) {
    this.#response = response;
    this.#timing = timing;
    this.#script = openaiChat.script({ model: String(body.model), text: [] }, body);
  }

  begin(): void {
    this.#response.once('close', () => {
      if (this.#timer !== null) clearTimeout(this.#timer);
    });
    this.#after(this.#timing.waitMs, () => {
      this.#response.writeHead(200, { 'content-type': openaiChat.contentType });
      this.#response.write(this.#script.begin().join(''));
      this.#speak();
    });
  }

  #speak(): void {
    const { tokens, paceMs } = this.#timing;
    const count = paceMs === 0 ? tokens : 1;
    const text = Array.from({ length: count }, () => this.#script.text(stampedToken())).join('');
    this.#sent += count;
    if (this.#sent < tokens) {
      this.#response.write(text);
      this.#after(paceMs, () => this.#speak());
    } else this.#response.end(text + this.#script.end().join(''));
  }

  /** From the moment when the last one was due, so that late timers do not add up. */
  #after(ms: number, task: () => void): void {
    this.#nextAt += ms;
    this.#timer = setTimeout(task, Math.max(0, this.#nextAt - now()));
  }
}
