import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  ProtocolError,
  ResourceNotFoundError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { type Fields, fieldsOf } from '../../lib/fields.ts';
import { own } from '../frame.ts';
import { identity, instructions } from '../identity.ts';
import { resourceTemplates } from '../resources.ts';
import { tools } from '../tools/index.ts';
import type { BridgeSettings } from './settings.ts';
import { ask, type Call, type Reply } from './upstream.ts';

/** How long a call waits for a coordinator that restarts, ms. With the longest wait of a tool it stays below a minute. */
const awayMs = 9_000;
const pauseMs = { first: 250, last: 2_000 };
/** Lists are asked for while the client starts: some give up after 10 s. */
const listMs = 3_000;
/** Sent at most once: a second call would act on what the first one left. */
const onceOnly = ['cancel_jobs', 'retry_job'];
/** These get a key of their own, so that they can be sent again. */
const submitting = ['submit_job', 'submit_jobs'];
/** A header holds nothing else. */
const headerText = /^[\x21-\x7e]+$/;

interface BridgeParts {
  settings: BridgeSettings;
  /** One line for people, on standard error. */
  log: (line: string) => void;
}

/**
 * Serves MCP on standard input and output by the coordinator's POST /mcp. Address and key are those of the moment of each
 * call, so a change of the settings needs no restart, and a call that is under way keeps its connection.
 */
export class Bridge {
  readonly #settings: BridgeSettings;
  readonly #log: BridgeParts['log'];
  readonly #servers = new Set<Server>();
  /** The client has the list of this program, because the coordinator gave none. */
  #hasOwnList = false;
  #isAway = false;

  constructor({ settings, log }: BridgeParts) {
    this.#settings = settings;
    this.#log = log;
  }

  /** @returns ends it. */
  open(): () => Promise<void> {
    const handle = serveStdio(() => this.#createServer(), {
      onerror: (error) => this.#log(`protocol: ${error.message}`),
    });
    const unwatch = this.#settings.watch(({ url, problem }) => {
      this.#log(problem === null ? `the settings have changed: ${url}` : `the settings: ${problem}`);
      this.#listChanged();
    });
    return async () => {
      unwatch();
      await handle.close();
    };
  }

  #createServer(): Server {
    const capabilities = { tools: { listChanged: true }, resources: {} };
    const server = new Server(identity, { capabilities, instructions });
    this.#servers.add(server);
    server.onclose = () => this.#servers.delete(server);
    server.setRequestHandler('tools/list', async (_request, { mcpReq }) => ({
      tools: await this.#list(mcpReq.signal),
    }));
    server.setRequestHandler('tools/call', async ({ params }, context) => {
      const result = await this.#callTool(params.name, fieldsOf(params.arguments), context);
      return server.projectCallToolResult(result, undefined);
    });
    server.setRequestHandler('resources/list', () => ({ resources: [] }));
    server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates }));
    server.setRequestHandler('resources/read', async ({ params: { uri } }, { mcpReq }) => {
      if (!headerText.test(uri)) throw new ResourceNotFoundError(uri);
      const call = { method: 'resources/read', params: { uri }, name: uri, onProgress: null };
      const { contents } = resultOf(await this.#ask({ ...call, signal: mcpReq.signal }));
      return { contents: Array.isArray(contents) ? contents : [] };
    });
    return server;
  }

  /** The tools of the key; all of them while the coordinator cannot say, so that a call can report what is wrong. */
  async #list(signal: AbortSignal) {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(listMs)]);
    const call = { method: 'tools/list', params: {}, name: null, signal: bounded, onProgress: null };
    const { settings, reply } = await this.#askOnce(call).catch(() => ({ settings: null, reply: null }));
    this.#hasOwnList = reply?.kind !== 'result';
    const listed = reply?.kind === 'result' ? reply.result.tools : null;
    if (Array.isArray(listed)) return listed;
    this.#log(`the list of tools is this program's own: ${settings?.problem ?? messageOf(reply)}`);
    return tools.map(({ definition }) => definition);
  }

  async #callTool(name: string, args: Fields, { mcpReq }: ServerContext) {
    if (!headerText.test(name)) throw new ProtocolError(-32602, 'There is no tool of that name');
    const progressToken = mcpReq._meta?.progressToken;
    const isKeyed = submitting.includes(name) && args.idempotency_key === undefined;
    const reply = await this.#ask({
      method: 'tools/call',
      params: { name, arguments: isKeyed ? { ...args, idempotency_key: `mcp-${randomUUID()}` } : args },
      name,
      signal: mcpReq.signal,
      onProgress: progressToken === undefined ? null : this.#progressOf(mcpReq, progressToken),
    });
    if (reply.kind === 'refused' || reply.kind === 'away') return failed(this.#adviceOn(reply));
    const { content, structuredContent, isError } = resultOf(reply);
    return {
      content: Array.isArray(content) ? content : [],
      ...(structuredContent === undefined ? {} : { structuredContent }),
      ...(isError === true ? { isError } : {}),
    };
  }

  /** Reports progress to the client, each time more than before, also when a call is repeated. */
  #progressOf({ notify }: ServerContext['mcpReq'], progressToken: string | number): Call['onProgress'] {
    let last = Number.NEGATIVE_INFINITY;
    return (params) => {
      if (typeof params.progress !== 'number' || params.progress <= last) return;
      last = params.progress;
      notify({ method: 'notifications/progress', params: { ...params, progressToken } }).catch(() => {});
    };
  }

  #adviceOn(reply: Extract<Reply, { kind: 'refused' | 'away' }>): string {
    const { path } = this.#settings;
    const lines = {
      refused: `Ask the person who runs this client to store a valid key: svc mcp --set-key (it goes into ${path}). This bridge uses it at once, without a restart.`,
      away: `Ask the person who runs this client to start the coordinator, or to correct its address with svc mcp --set-url (${path}); then call again.`,
    };
    return `${reply.message}.\n${lines[reply.kind]}`;
  }

  /** Ask until there is an answer, for some seconds after the coordinator went away: perhaps in the midst of a wait. */
  async #ask(call: Call): Promise<Reply> {
    const startedAt = performance.now();
    let endAt: number | null = null;
    for (let pause = pauseMs.first; ; pause = Math.min(2 * pause, pauseMs.last)) {
      const { settings, reply } = await this.#askOnce(afterWait(call, performance.now() - startedAt));
      const waitMs = reply.kind === 'away' ? (reply.retryAfterMs ?? pause) : pause;
      if (reply.kind === 'refused') {
        // The key was changed while the call was under way.
        if (settings === (await this.#settings.current())) return reply;
        continue;
      }
      if (reply.kind !== 'away') {
        this.#answered();
        return reply;
      }
      if (!this.#isAway) this.#log(reply.message);
      this.#isAway = true;
      const mayRepeat = reply.isUnsent || !onceOnly.includes(call.name ?? '');
      endAt ??= performance.now() + awayMs;
      if (!mayRepeat || performance.now() + waitMs > endAt) return reply;
      await delay(waitMs, undefined, { signal: call.signal });
    }
  }

  async #askOnce(call: Call) {
    const settings = await this.#settings.current();
    const { problem } = settings;
    const unusable: Reply = {
      kind: 'refused',
      message: `The settings of svc mcp cannot be used: ${problem}`,
    };
    return { settings, reply: problem === null ? await ask(settings, call) : unusable };
  }

  #answered(): void {
    if (this.#isAway) this.#log('the coordinator answers again');
    this.#isAway = false;
    if (this.#hasOwnList) this.#listChanged();
    this.#hasOwnList = false;
  }

  #listChanged(): void {
    for (const server of this.#servers) server.sendToolListChanged().catch(() => {});
  }
}

/** A call that is repeated waits for what is left of its time, and its progress goes on from there. */
function afterWait(call: Call, waitedMs: number): Call {
  const args = fieldsOf(call.params.arguments);
  const { wait_seconds: seconds } = args;
  const waited = Math.floor(waitedMs / 1_000);
  if (typeof seconds !== 'number' || waited === 0) return call;
  const { onProgress } = call;
  return {
    ...call,
    params: { ...call.params, arguments: { ...args, wait_seconds: Math.max(0, seconds - waited) } },
    onProgress:
      onProgress &&
      ((params) => onProgress({ ...params, progress: Number(params.progress) + waited, total: seconds })),
  };
}

/** @throws ProtocolError for the client. */
function resultOf(reply: Reply): Fields {
  if (reply.kind === 'result') return reply.result;
  if (reply.kind === 'error') throw new ProtocolError(reply.code, reply.message, reply.data);
  throw new ProtocolError(-32603, reply.message);
}

function messageOf(reply: Reply | null): string {
  return reply === null || reply.kind === 'result' ? 'no answer in time' : reply.message;
}

function failed(text: string) {
  return { isError: true, content: [own(text)] };
}
