import { Agent } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Assignment } from '../src/domain/workerProtocol.ts';
import { type Piece, readStream } from './support/eventStream.ts';
import type { HttpClient } from './support/httpClient.ts';
import { bodyOf, promptOf, served } from './support/jobs.ts';
import { connect, post } from './support/load.ts';
import { seedFolder, startCoordinator } from './support/processes.ts';
import { quietRounds } from './support/quiet.ts';
import { type Bench, type Figure, figureOf, type Scenario } from './support/scenario.ts';
import { median, percentile } from './support/statistics.ts';
import { WorkerClient } from './support/workerClient.ts';

const slots = 200;
const promptBytes = 300;
/** What a worker sends at most, see docs/worker-protocol.md. */
const tokensPerSecond = 20;
const streamsAtOnce = 50;
const tokenP50MsMax = 5;
/** The native way is two requests, the job and its events. */
const firstTextMax = 1;

/** Says a token at once, and the others at the usual rate; each is the moment at which it is sent. */
class Speaker {
  readonly #tokens: number;
  #worker: WorkerClient | null = null;

  private constructor(tokens: number) {
    this.#tokens = tokens;
  }

  static async connect(bench: Bench, url: string, tokens: number): Promise<WorkerClient> {
    const speaker = new Speaker(tokens);
    const onAssign = (job: Assignment) => queueMicrotask(() => void speaker.#speak(job));
    speaker.#worker = await WorkerClient.connect(bench, url, slots, { onAssign });
    return speaker.#worker;
  }

  async #speak(job: Assignment): Promise<void> {
    let output = '';
    for (let seq = 1; seq <= this.#tokens; seq++) {
      if (seq > 1) await sleep(1000 / tokensPerSecond);
      const token = `@${performance.now().toFixed(3)} `;
      output += token;
      this.#worker?.say(job, seq, token);
    }
    this.#worker?.finish(job, output);
  }
}

const token = /@(\d+\.\d+) /g;

/** How long the tokens of a piece took, ms. */
function delaysOf({ text, at }: Piece): number[] {
  return [...text.matchAll(token)].map(([, sentAt]) => at - Number(sentAt));
}

interface Times {
  /** From the request to the headers of the stream, ms. */
  headersMs: number[];
  /** To the first text. */
  firstTextMs: number[];
}

/** What a stream of /v1 adds to the native one, and how long a token is on its way through the coordinator. */
export const streams: Scenario = {
  name: 'streams',
  about: `first byte of a stream of /v1 against the native one, and delay of a token in ${streamsAtOnce} streams`,
  async run(bench) {
    const coordinator = await startCoordinator(bench, await seedFolder(bench, {}));
    const clients = connectTo(bench, coordinator.url);
    const count = bench.quick ? 20 : 200;
    const brief = await Speaker.connect(bench, coordinator.url, 1);
    const turn = async () => {
      await coordinator.measure();
      const native = await timesOf(count, () => nativeStream(clients));
      const chat = await timesOf(count, () => chatStream(clients));
      const { cpuMs } = await coordinator.report();
      return { measured: { native, chat }, cpuMs };
    };
    await turn();
    const kept = await quietRounds(bench, bench.quick ? 2 : 5, turn);
    brief.close();
    const tokens = bench.quick ? 20 : 100;
    await Speaker.connect(bench, coordinator.url, tokens);
    const delaysMs: number[] = [];
    const onPiece = (piece: Piece) => delaysMs.push(...delaysOf(piece));
    await Promise.all(Array.from({ length: streamsAtOnce }, () => readChat(clients, onPiece)));
    const lost = streamsAtOnce * tokens - delaysMs.length;
    if (lost !== 0) throw new Error(`${lost} tokens did not come`);
    return figures(
      kept.map(({ native }) => native),
      kept.map(({ chat }) => chat),
      delaysMs,
    );
  },
};

/** What a coordinator is asked with: streams, and one request after the other. */
interface Clients {
  url: string;
  agent: Agent;
  client: HttpClient;
}

function connectTo(bench: Bench, url: string): Clients {
  const agent = new Agent({ keepAlive: true, maxSockets: streamsAtOnce });
  const client = connect(url);
  bench.defer(() => {
    agent.destroy();
    client.destroy();
  });
  return { url, agent, client };
}

/** One after the other. */
async function timesOf(
  count: number,
  one: () => Promise<{ headersMs: number; firstTextMs: number }>,
): Promise<Times> {
  const times: Times = { headersMs: [], firstTextMs: [] };
  for (let made = 0; made < count; made++) {
    const { headersMs, firstTextMs } = await one();
    times.headersMs.push(headersMs);
    times.firstTextMs.push(firstTextMs);
  }
  return times;
}

const chatBody = JSON.stringify({
  model: served,
  stream: true,
  messages: [{ role: 'user', content: promptOf('ticket', promptBytes) }],
});

function readChat({ url, agent }: Clients, onPiece: (piece: Piece) => void): Promise<number> {
  return readStream({ method: 'POST', url: `${url}/v1/chat/completions`, body: chatBody, agent, onPiece });
}

async function chatStream(clients: Clients) {
  const startedAt = performance.now();
  const first = firstText();
  const headersAt = await readChat(clients, first.onPiece);
  return { headersMs: headersAt - startedAt, firstTextMs: first.at() - startedAt };
}

/** From the request to the first text of a stream, `count` times. */
export async function measureFirstText(bench: Bench, url: string, count: number): Promise<number[]> {
  const worker = await Speaker.connect(bench, url, 1);
  const clients = connectTo(bench, url);
  const { firstTextMs } = await timesOf(count, () => chatStream(clients));
  worker.close();
  return firstTextMs;
}

/** POST the job, and follow its events. */
async function nativeStream({ url, agent, client }: Clients) {
  const startedAt = performance.now();
  const answer = await post(client, '/api/jobs', bodyOf(served, promptOf('ticket', promptBytes)), 201);
  const { id } = JSON.parse(answer) as { id: string };
  const first = firstText();
  const events = {
    method: 'GET',
    url: `${url}/api/jobs/${id}/events`,
    agent,
    onPiece: first.onPiece,
  } as const;
  const headersAt = await readStream(events);
  return { headersMs: headersAt - startedAt, firstTextMs: first.at() - startedAt };
}

/** When the first token came. */
function firstText() {
  let firstAt = Number.NaN;
  return {
    onPiece: ({ text, at }: Piece): void => {
      if (Number.isNaN(firstAt) && text.search(token) >= 0) firstAt = at;
    },
    at: (): number => {
      if (Number.isNaN(firstAt)) throw new Error('a stream ended without text');
      return firstAt;
    },
  };
}

function figures(native: readonly Times[], chat: readonly Times[], delaysMs: readonly number[]): Figure[] {
  const p50 = (rounds: readonly Times[], of: keyof Times) => median(rounds.map((round) => median(round[of])));
  const firstTextMs = p50(chat, 'firstTextMs');
  const nativeMs = p50(native, 'firstTextMs');
  return [
    {
      ...figureOf('first text of a stream of /v1 p50', firstTextMs, 'ms'),
      ratio: firstTextMs / nativeMs,
      against: 'the native one',
      target: { of: 'ratio', is: 'at most', bound: firstTextMax },
    },
    figureOf('  of the native one, POST and events', nativeMs, 'ms'),
    {
      ...figureOf('headers of a stream of /v1 p50', p50(chat, 'headersMs'), 'ms'),
      ratio: p50(chat, 'headersMs') / p50(native, 'headersMs'),
      against: 'the native one',
    },
    {
      ...figureOf(
        `token from worker to client p50, ${delaysMs.length} in ${streamsAtOnce} streams`,
        median(delaysMs),
        'ms',
      ),
      target: { of: 'value', is: 'at most', bound: tokenP50MsMax },
    },
    figureOf('  p99', percentile(delaysMs, 0.99), 'ms'),
  ];
}
