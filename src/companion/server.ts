import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf } from '../domain/errors.ts';
import { type Fields, parseFields } from '../lib/fields.ts';
import type { Access, Refusal } from './access.ts';
import type { PageFiles } from './pageFiles.ts';
import { mayBeOwn } from './peer.ts';

/** A request of the page was wrong. The message is for people. */
export class BadRequest extends Error {
  readonly status: number;

  constructor(message: string, status = 400) {
    super(message);
    this.name = 'BadRequest';
    this.status = status;
  }
}

/** What a path under `api/` does. @returns what is answered as JSON. @throws BadRequest. */
export type Action = (body: Fields) => Promise<unknown>;

export interface PageServerOptions {
  access: Access;
  files: PageFiles;
  /** The state as JSON, sent whole with every change. */
  state: () => string;
  /** By their names under `api/`; all are POST. */
  actions: Readonly<Record<string, Action>>;
  /** An address that opens the dashboard signed in. */
  dashboardLink: () => string;
}

const bodyBytesMax = 64 * 1024;
const connectionsMax = 64;
const streamsMax = 16;
/** Changes within this time are one event: 10 per second at most. */
const pushMs = 100;
const beatMs = 15_000;
/** A page that reads slower than this many bytes is cut off; it connects again by itself. */
const backlogMax = 1024 * 1024;

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const headers: Readonly<Record<string, string>> = {
  'Content-Security-Policy': policy,
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

const refusals: Readonly<Record<Exclude<Refusal, null>, [number, string]>> = {
  host: [421, 'This address belongs to the companion of SVC alone.'],
  origin: [403, 'The companion takes requests from its own page alone.'],
  user: [403, 'The companion belongs to another user of this machine.'],
  token: [401, 'This page is signed out. Open it again with: svc companion open'],
};

/** Serves the page on the loopback interface, its state as server-sent events, and its actions. */
export class PageServer {
  readonly #options: PageServerOptions;
  readonly #server: Server;
  readonly #streams = new Set<ServerResponse>();
  readonly #beat: NodeJS.Timeout;
  #push: NodeJS.Timeout | null = null;

  constructor(options: PageServerOptions) {
    this.#options = options;
    const limits = { requestTimeout: 10_000, headersTimeout: 10_000, maxHeaderSize: 16 * 1024 };
    this.#server = createServer(limits, (request, response) => void this.#serve(request, response));
    this.#server.maxConnections = connectionsMax;
    this.#beat = setInterval(() => this.#send(':\n\n'), beatMs);
  }

  /** @param port 0 for any. @returns the port. @throws as node:net does, for instance when the port is in use. */
  async listen(port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, '127.0.0.1', resolve);
    });
    const own = (this.#server.address() as AddressInfo).port;
    this.#options.access.listensOn(own);
    return own;
  }

  /** The state has changed. */
  changed(): void {
    this.#push ??= setTimeout(() => {
      this.#push = null;
      this.#send(this.#event());
    }, pushMs);
  }

  close(): void {
    clearInterval(this.#beat);
    if (this.#push !== null) clearTimeout(this.#push);
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #event(): string {
    return `data: ${this.#options.state()}\n\n`;
  }

  #send(text: string): void {
    for (const stream of this.#streams) {
      if (stream.writableLength > backlogMax) stream.destroy();
      else stream.write(text);
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    try {
      await this.#route(request, response);
    } catch (error) {
      const status = error instanceof BadRequest ? error.status : 500;
      answerJson(response, status, { error: messageOf(error) });
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { access, files } = this.#options;
    const stranger = access.refuseStranger(request);
    if (stranger !== null) return refuse(response, stranger);
    // A path that begins with two slashes would be taken for a host.
    const { pathname, searchParams } = new URL(`${access.origin}${request.url ?? '/'}`);
    if (!pathname.startsWith(access.base)) return answerText(response, 404, 'There is nothing here.');
    const path = pathname.slice(access.base.length);
    if (path === 'open' && request.method === 'GET') {
      // Another user may have seen the link in the list of processes.
      if (!mayBeOwn(request.socket)) return refuse(response, 'user');
      return this.#open(response, searchParams.get('ticket') ?? '');
    }
    const outsider = access.refuseToken(request);
    if (outsider !== null) return refuse(response, outsider);
    if (path.startsWith('api/')) return this.#act(request, response, path.slice('api/'.length));
    if (request.method !== 'GET') return answerText(response, 405, 'Only GET is possible here.');
    if (path === 'events') return this.#stream(response);
    if (path === 'dashboard') {
      response.writeHead(303, { Location: this.#options.dashboardLink() }).end();
      return;
    }
    const file = files.get(path === '' ? 'index.html' : path);
    if (file === undefined) return answerText(response, 404, 'There is nothing here.');
    response.writeHead(200, { 'Content-Type': file.type }).end(file.bytes);
  }

  #open(response: ServerResponse, ticket: string): void {
    const { access } = this.#options;
    const cookie = access.redeem(ticket);
    if (cookie === null) {
      const text = 'This link was used or is too old. Get another with: svc companion open';
      answerText(response, 403, text);
      return;
    }
    response.writeHead(303, { 'Set-Cookie': cookie, Location: access.base }).end();
  }

  async #act(request: IncomingMessage, response: ServerResponse, name: string): Promise<void> {
    const { actions, state } = this.#options;
    if (name === 'state' && request.method === 'GET') {
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(state());
      return;
    }
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (action === undefined) throw new BadRequest(`there is no action ${JSON.stringify(name)}`, 404);
    if (request.method !== 'POST') throw new BadRequest('only POST is possible here', 405);
    answerJson(response, 200, (await action(await bodyOf(request))) ?? {});
  }

  #stream(response: ServerResponse): void {
    if (this.#streams.size >= streamsMax) {
      answerText(response, 503, `At most ${streamsMax} windows can show the companion; close others.`);
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    this.#streams.add(response);
    response.on('close', () => this.#streams.delete(response));
    response.on('error', () => response.destroy());
    response.write(`retry: 1000\n${this.#event()}`);
  }
}

async function bodyOf(request: IncomingMessage): Promise<Fields> {
  if (request.headers['content-type'] !== 'application/json') {
    throw new BadRequest('the body must have the content type application/json', 415);
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    const part = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > bodyBytesMax) throw new BadRequest(`the body must have at most ${bodyBytesMax} bytes`, 413);
    chunks.push(part);
  }
  const fields = parseFields(Buffer.concat(chunks).toString('utf8'));
  if (fields === null) throw new BadRequest('the body must be a JSON object');
  return fields;
}

function refuse(response: ServerResponse, refusal: Exclude<Refusal, null>): void {
  answerText(response, ...refusals[refusal]);
}

function answerText(response: ServerResponse, status: number, text: string): void {
  response
    .writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', Connection: 'close' })
    .end(`${text}\n`);
}

function answerJson(response: ServerResponse, status: number, value: unknown): void {
  if (response.headersSent) response.destroy();
  else response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
}
