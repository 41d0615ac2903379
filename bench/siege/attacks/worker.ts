import { WebSocket } from 'ws';
import {
  type Assignment,
  type CoordinatorFrame,
  workerSubprotocol,
} from '../../../src/domain/workerProtocol.ts';
import { type Attack, codeOf, pause, type Siege } from '../attacker.ts';
import { honestWorker, hostileProvider } from '../names.ts';

const mebibyte = 1024 ** 2;
/** Below the 16 MiB of a frame. */
const longText = 'm'.repeat(15.5 * mebibyte);
const longModel = 'n'.repeat(4 * mebibyte);
const longOutput = 'o'.repeat(12 * mebibyte);
const modelsOfHello = 79_000;
const namesOfModels = 40;
const sessionMs = 10_000;
const openMsMax = 10_000;
const framesAtOnce = 2_000;

let helloTurn = 0;
let modelsText: string | null = null;

export const workerAttacks: readonly Attack[] = [
  {
    name: 'failures of 15.5 MiB',
    atOnce: 1,
    pauseMs: 200,
    round: (siege) =>
      work(siege, 'failures of 15.5 MiB', hello('hostile-fail', hostileProvider, 30), (job) => ({
        type: 'fail',
        ...leaseOf(job),
        error: { class: 'invalid_request', message: longText, status: 400, code: 'c'.repeat(200) },
      })),
  },
  {
    name: 'model names of 4 MiB',
    atOnce: 1,
    pauseMs: 200,
    round: (siege) =>
      work(siege, 'model names of 4 MiB', hello('hostile-model', hostileProvider, 10), (job) =>
        complete(job, { output: longOutput, model: longModel }),
      ),
  },
  { name: 'hellos with many models', atOnce: 2, pauseMs: 100, round: longHello },
  {
    name: 'jobs of others',
    atOnce: 1,
    pauseMs: 100,
    round: (siege) =>
      work(siege, 'jobs of others', hello('hostile-thief', 'echo', 100_000), (job) => ({
        type: 'fail',
        ...leaseOf(job),
        error: { class: 'invalid_request', message: 'no', status: 400 },
      })),
  },
  {
    name: 'the name of another worker',
    atOnce: 2,
    pauseMs: 100,
    round: (siege) =>
      work(siege, 'the name of another worker', hello(honestWorker, 'echo', 50), (job) =>
        complete(job, { output: 'forged', model: 'forged' }),
      ),
  },
  {
    name: 'made-up usage',
    atOnce: 1,
    pauseMs: 200,
    round: (siege) =>
      work(siege, 'made-up usage', hello('hostile-usage', hostileProvider, 10), (job) =>
        complete(job, { output: 'x', model: 'gold-1', tokens: 1e10 }),
      ),
  },
  {
    name: 'made-up failures of the provider',
    atOnce: 1,
    pauseMs: 200,
    round: (siege) =>
      work(
        siege,
        'made-up failures of the provider',
        hello('hostile-breaker', hostileProvider, 10),
        (job) => ({
          type: 'fail',
          ...leaseOf(job),
          error: { class: 'server_error', message: 'down', status: 503 },
        }),
      ),
  },
  { name: 'frames at full speed', atOnce: 1, pauseMs: 200, round: frames },
];

interface Hello {
  name: string;
  provider: string;
  slots: number;
}

function hello(name: string, provider: string, slots: number): Hello {
  return { name, provider, slots };
}

function leaseOf({ job_id, lease }: Assignment) {
  return { job_id, lease };
}

function complete(job: Assignment, answer: { output: string; model: string; tokens?: number }): object {
  const { output, model, tokens = 1 } = answer;
  const usage = { input_tokens: tokens, output_tokens: tokens };
  return {
    type: 'complete',
    ...leaseOf(job),
    result: { output, finish_reason: 'stop', model, usage, latency_ms: 1 },
  };
}

/** One session: say hello, answer each assignment, and count what comes back. @returns how the session ended. */
async function work(
  siege: Siege,
  attack: string,
  greeting: Hello,
  answer: (job: Assignment) => object,
): Promise<string> {
  const socket = open(siege);
  const ended = endOf(socket);
  socket.on('open', () => socket.send(helloText(greeting)));
  socket.on('message', (data) => {
    const frame: CoordinatorFrame = JSON.parse(String(data));
    if (frame.type === 'assign') for (const job of frame.jobs) socket.send(JSON.stringify(answer(job)));
    else if (frame.type === 'ack')
      siege.tally.count(attack, frame.accepted ? 'ack' : `ack refused ${frame.reason}`);
    else if (frame.type === 'error') siege.tally.count(attack, `error ${frame.code}`);
    else if (frame.type === 'welcome') siege.tally.count(attack, `welcome with ${frame.concurrency} slots`);
  });
  return within(siege, socket, ended, sessionMs);
}

/** A hello as large as a frame may be, under a name of its own. */
async function longHello(siege: Siege): Promise<string> {
  modelsText ??= JSON.stringify(
    Array.from({ length: modelsOfHello }, (_, index) => `model-${index}-`.padEnd(190, 'x')),
  );
  helloTurn += 1;
  const name = `hostile-models-${helloTurn % namesOfModels}`;
  const greeting = `{"type":"hello","name":"${name}","kind":"local","providers":["${hostileProvider}"],"concurrency":1,"models":{"${hostileProvider}":${modelsText}}}`;
  const socket = open(siege);
  const ended = endOf(socket);
  const greeted = new Promise<string>((resolve) => {
    socket.on('message', (data) => {
      const frame: CoordinatorFrame = JSON.parse(String(data));
      if (frame.type === 'welcome') resolve('welcome');
      else if (frame.type === 'error') siege.tally.count('hellos with many models', `error ${frame.code}`);
    });
  });
  socket.on('open', () => socket.send(greeting));
  return within(siege, socket, Promise.race([ended, greeted]), sessionMs);
}

/** Heartbeats and pieces of output for leases that nobody has, as many as are taken. */
async function frames(siege: Siege): Promise<string> {
  const socket = open(siege);
  const ended = endOf(socket);
  let isOver = false;
  socket.on('open', async () => {
    socket.send(helloText(hello('hostile-frames', hostileProvider, 0)));
    for (let seq = 1; !isOver && socket.readyState === WebSocket.OPEN; seq++) {
      for (let count = 0; count < framesAtOnce; count++) {
        socket.send(`{"type":"chunk","job_id":"none","lease":1,"seq":${seq},"text":"x"}`);
      }
      socket.send('{"type":"heartbeat","running":[]}');
      // No more than the other side reads.
      do await pause(20, siege.over);
      while (socket.bufferedAmount > mebibyte && !siege.over.aborted);
    }
  });
  const end = await within(siege, socket, ended, sessionMs);
  isOver = true;
  return end;
}

function helloText({ name, provider, slots }: Hello): string {
  return JSON.stringify({
    type: 'hello',
    name,
    kind: 'local',
    providers: [provider],
    concurrency: slots,
    running: [],
  });
}

function open(siege: Siege): WebSocket {
  return new WebSocket(`${siege.url.replace('http', 'ws')}/ws/worker`, workerSubprotocol, {
    headers: { authorization: `Bearer ${siege.key}` },
    localAddress: siege.from,
    perMessageDeflate: false,
    handshakeTimeout: openMsMax,
  });
}

function endOf(socket: WebSocket): Promise<string> {
  return new Promise((resolve) => {
    socket.once('error', (error) => resolve(codeOf(error)));
    socket.once('close', (code) => resolve(`close ${code}`));
  });
}

async function within(siege: Siege, socket: WebSocket, ended: Promise<string>, ms: number): Promise<string> {
  const end = await Promise.race([ended, pause(ms, siege.over).then(() => 'held')]);
  socket.on('error', () => {});
  socket.terminate();
  return end;
}
