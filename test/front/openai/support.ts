import type { ExecutionContext } from 'ava';
import OpenAI from 'openai';
import { silent } from '../../../src/lib/log.ts';
import { systemClock, systemRandom } from '../../../src/lib/systemClock.ts';
import type { Provider } from '../../../src/worker/provider.ts';
import { createEcho } from '../../../src/worker/providers/echo.ts';
import { Worker } from '../../../src/worker/worker.ts';
import { adminKey } from '../../support/process.ts';
import { type Stoppable, startHere } from '../../support/service.ts';
import { HeldProvider } from '../../worker/support/setup.ts';

export const hello = [{ role: 'user' as const, content: 'Say hello' }];

export interface OpenAiHere extends Stoppable {
  openai: OpenAI;
  /** The provider `held` of the worker, with the one model `m`. */
  held: HeldProvider;
  /** POST /v1/chat/completions without an SDK. */
  post(body: object, options?: { headers?: Record<string, string>; signal?: AbortSignal }): Promise<Response>;
}

/** A coordinator in this process, a worker with an echo and the providers of the test, and OpenAI's own SDK as client. */
export async function openAiHere(
  t: ExecutionContext,
  { config = {}, providers = [] }: { config?: Record<string, unknown>; providers?: Provider[] } = {},
): Promise<OpenAiHere> {
  const here = await startHere(t, { config });
  const held = new HeldProvider();
  await startWorker(t, here.url, [createEcho(), held, ...providers]);
  return {
    ...here,
    held,
    openai: clientOf(here.url),
    post: (body, { headers = {}, signal } = {}) =>
      fetch(`${here.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ messages: hello, ...body }),
        ...(signal === undefined ? {} : { signal }),
      }),
  };
}

/** POST /v1/responses without an SDK. */
export function postResponse(
  { url }: { url: string },
  body: object,
  { headers = {}, signal }: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Response> {
  return fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ input: 'Say hello', ...body }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** One event of the stream of a response. */
export interface ResponseEvent {
  type: string;
  sequence_number: number;
  [field: string]: unknown;
}

/** The events of a response, held against what all of them promise: a name, the same type, and numbers without a gap. */
export async function* responseEventsOf(response: Response, first = 0): AsyncGenerator<ResponseEvent> {
  let next = first;
  for await (const event of eventsOf(response)) {
    if (String(event).startsWith(':')) continue;
    const [, name, data = ''] = /^event: (\S+)\ndata: (.*)$/s.exec(String(event)) ?? [];
    const parsed = JSON.parse(data) as ResponseEvent;
    if (parsed.code === 'still_running') next -= 1;
    if (parsed.type !== name) throw new Error(`the event ${name} has the type ${parsed.type}`);
    if (parsed.sequence_number !== next) throw new Error(`event ${parsed.sequence_number} came, not ${next}`);
    next += 1;
    yield parsed;
  }
}

export async function listOf<T>(all: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const one of all) list.push(one);
  return list;
}

export function clientOf(url: string, apiKey = adminKey): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
}

/** A worker in this process that has connected; it stops with the test. */
export async function startWorker(
  t: ExecutionContext,
  url: string,
  providers: readonly Provider[],
  name = 'w',
): Promise<Worker> {
  const worker = new Worker({
    name,
    kind: 'local',
    coordinatorUrl: url,
    apiKey: () => adminKey,
    providers,
    concurrency: 20,
    clock: systemClock,
    random: systemRandom(),
    logger: silent,
  });
  t.teardown(() => worker.stop());
  await worker.start();
  await worker.untilConnected();
  return worker;
}

/** The events of a stream: comments as they are, data as JSON, and `[DONE]`. */
export async function* eventsOf(response: Response): AsyncGenerator<string | Record<string, unknown>> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      const data = event.startsWith('data: ') ? event.slice(6) : event;
      yield data.startsWith('{') ? (JSON.parse(data) as Record<string, unknown>) : data;
    }
  }
}
