import { performance } from 'node:perf_hooks';
import { WebSocket } from 'ws';
import { liveSubprotocol } from '../src/domain/liveProtocol.ts';
import { bodiesOf, unserved } from './support/jobs.ts';
import { LeanSubscriber } from './support/leanSubscriber.ts';
import { dispatchLoad, steadyLoad } from './support/load.ts';
import {
  apiKey,
  type ServerProcess,
  seedFolder,
  startCoordinator,
  startSubscribers,
} from './support/processes.ts';
import { quietRounds, type Round } from './support/quiet.ts';
import { type Bench, type Figure, figureOf, type Scenario } from './support/scenario.ts';
import { median } from './support/statistics.ts';

const count = 200;
const perSecond = 500;
const connections = 32;
const topic = 'jobs';
/** Share of the dispatch throughput that must be left. */
const leftMin = 0.8;
/** One that never reads may make a job this many times as dear: what two equal rounds differ by. */
const stuckMax = 1.05;
/** It is told at a ping, every 20 s, by then it must have taken nothing for 20 s more; and one second to close. */
const cutSecondsMax = 62;

/** What subscribers of live events cost the dispatch, and one that never reads. */
export const subscribers: Scenario = {
  name: 'subscribers',
  about: `${count} subscribers of /ws at ${perSecond} job events a second, and one that never reads`,
  async run(bench) {
    const coordinator = await startCoordinator(bench, await seedFolder(bench, {}));
    const load = { url: coordinator.url, connections, bodies: bodiesOf(unserved, 300) };
    const rounds = bench.quick ? 2 : 5;
    const steadyMs = bench.quick ? 1_500 : 5_000;
    const steady = async (): Promise<Round<number>> => {
      await coordinator.measure();
      const { elapsedMs } = await steadyLoad(load, { perSecond, ms: steadyMs });
      const { mainMs, cpuMs } = await coordinator.report();
      return { measured: mainMs / elapsedMs, cpuMs };
    };
    const fullSpeed = async (): Promise<Round<number>> => {
      await coordinator.measure();
      const { requests } = await dispatchLoad(load, { requests: bench.quick ? 1_000 : 4_000 });
      const { mainMs, cpuMs } = await coordinator.report();
      return { measured: (mainMs * 1000) / requests, cpuMs };
    };
    await fullSpeed();

    const alone = median(await quietRounds(bench, rounds, steady));
    const others = await startSubscribers(bench, { url: coordinator.url, count, topic });
    const witness = await Witness.connect(coordinator.url);
    const heard = await witness.count(async () => {
      await steadyLoad(load, { perSecond, ms: 1_000 });
    }, perSecond);
    if (heard < perSecond) throw new Error(`a subscriber heard ${heard} of ${perSecond} jobs`);
    witness.close();
    const beside = median(await quietRounds(bench, rounds, () => withOthers(others, steady)));
    await others.stop();

    const oneThatNeverReads = () => neverReading(bench, coordinator);
    const free = async (): Promise<Round<number>> => {
      // What fills the one that never reads fills the journal too: both begin after the same.
      await fill(coordinator);
      return fullSpeed();
    };
    const held = async (): Promise<Round<number>> => {
      const stuck = await oneThatNeverReads();
      const round = await fullSpeed();
      stuck.close();
      return round;
    };
    let isFreeFirst = false;
    const turns = await quietRounds(bench, rounds, async () => {
      // Whatever grows from round to round is no cost of the one that comes second.
      isFreeFirst = !isFreeFirst;
      const first = await (isFreeFirst ? free : held)();
      const second = await (isFreeFirst ? held : free)();
      const [alone, beside] = isFreeFirst ? [first, second] : [second, first];
      const measured = { free: alone.measured, held: beside.measured };
      return { measured, cpuMs: alone.cpuMs + beside.cpuMs };
    });
    bench.say(turns.map(({ free, held }) => `${free.toFixed(0)}/${held.toFixed(0)}`).join(' '));
    const jobAlone = median(turns.map((turn) => turn.free));
    const jobBeside = median(turns.map((turn) => turn.held));
    const cutSeconds = bench.quick ? null : await (await oneThatNeverReads()).cut();
    return figures({ alone, beside, jobAlone, jobBeside, cutSeconds });
  },
};

/** The processor time of the subscribers' process is ours too, and nobody else's. */
async function withOthers<T>(others: ServerProcess, round: () => Promise<Round<T>>): Promise<Round<T>> {
  await others.measure();
  const { measured, cpuMs } = await round();
  const { cpuMs: theirs } = await others.report();
  return { measured, cpuMs: cpuMs + theirs };
}

interface Stuck {
  /** Resolves when it is cut off, with the seconds since it stopped reading. */
  cut(): Promise<number>;
  close(): void;
}

/**
 * A subscriber that reads no more. Resolves when so much was sent to it that neither it nor the system takes more, which
 * is some 10 MB on Linux: until then it is a subscriber like any other.
 */
async function neverReading(bench: Bench, coordinator: ServerProcess): Promise<Stuck> {
  const subscriber = await LeanSubscriber.connect(coordinator.url, apiKey, topic);
  bench.defer(() => subscriber.close());
  subscriber.stopReading();
  const startedAt = performance.now();
  const cutOff = subscriber.cutOff().then(() => (performance.now() - startedAt) / 1000);
  await fill(coordinator);
  return { cut: () => cutOff, close: () => subscriber.close() };
}

async function fill({ url }: ServerProcess): Promise<void> {
  await dispatchLoad({ url, connections, bodies: bodiesOf(unserved, 32_000) }, { requests: 500 });
}

/** A subscriber that reads every event: whether they are told at all. */
class Witness {
  readonly #socket: WebSocket;
  readonly #heard = new Set<string>();
  #onHeard: () => void = () => {};

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data) => {
      const event: { type: string; data?: { id?: string } } = JSON.parse(String(data));
      if (event.type === 'job.created' && event.data?.id !== undefined) this.#heard.add(event.data.id);
      this.#onHeard();
    });
  }

  static async connect(url: string): Promise<Witness> {
    const headers = { authorization: `Bearer ${apiKey}` };
    const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, liveSubprotocol, { headers });
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    const witness = new Witness(socket);
    const subscribed = Promise.withResolvers<void>();
    witness.#onHeard = subscribed.resolve;
    socket.send(JSON.stringify({ type: 'subscribe', topics: [topic] }));
    await subscribed.promise;
    return witness;
  }

  /** How many jobs it hears of while `run` runs, and up to a second longer when they are fewer than `wanted`. */
  async count(run: () => Promise<void>, wanted: number): Promise<number> {
    this.#heard.clear();
    const all = Promise.withResolvers<void>();
    this.#onHeard = () => {
      if (this.#heard.size >= wanted) all.resolve();
    };
    await run();
    const timer = setTimeout(all.resolve, 1_000);
    await all.promise;
    clearTimeout(timer);
    return this.#heard.size;
  }

  close(): void {
    this.#socket.terminate();
  }
}

function figures({
  alone,
  beside,
  jobAlone,
  jobBeside,
  cutSeconds,
}: {
  /** Share of the main thread's time at the steady rate, without the subscribers and with them. */
  alone: number;
  beside: number;
  /** Main thread for a job at full speed, without the one that never reads and with it, µs. */
  jobAlone: number;
  jobBeside: number;
  /** null: not waited for. */
  cutSeconds: number | null;
}): Figure[] {
  // The main thread is what dispatch runs out of: the share that subscribers take is lost for it.
  const cost = beside - alone;
  return [
    {
      name: `dispatch throughput left beside ${count} subscribers`,
      value: (1 - cost) * 100,
      unit: '%',
      ratio: 1 - cost,
      against: 'without them',
      target: { of: 'ratio', is: 'at least', bound: leftMin },
    },
    figureOf('  main thread, without them', alone * 1000, 'ms/s'),
    figureOf('  main thread, with them', beside * 1000, 'ms/s'),
    {
      name: 'a job at full speed beside one that never reads',
      value: jobBeside,
      unit: 'µs',
      ratio: jobBeside / jobAlone,
      against: 'without it',
      target: { of: 'ratio', is: 'at most', bound: stuckMax },
    },
    ...(cutSeconds === null
      ? []
      : [
          {
            name: '  until it is cut off',
            value: cutSeconds,
            unit: 's',
            ratio: null,
            against: '',
            target: { of: 'value', is: 'at most', bound: cutSecondsMax } as const,
          },
        ]),
  ];
}
