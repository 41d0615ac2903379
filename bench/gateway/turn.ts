import { Agent } from 'node:http';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMsOf } from '../peers/processTree.ts';
import { type Timing, timedModel } from '../support/providers.ts';
import { stampPattern } from '../support/timedAnswer.ts';
import type { Name, System } from './systems.ts';

/** Calls that open connections on the whole way. A worker sends no text of a job that is over within 50 ms. */
export const opening: Timing = { waitMs: 100, tokens: 1, paceMs: 0 };

/** What one system is asked in its turn. */
export interface Setting {
  kind: 'whole' | 'stream';
  atOnce: number;
  /** One after the other, by each of those at once. */
  callsEach: number;
  timing: Timing;
}

/** What a turn has shown, ms. */
export interface Turn {
  /** From the request to the last byte. */
  wholeMs: number[];
  /** Of streams: from the request to the first token. */
  firstMs: number[];
  /** Of streams: between two moments at which tokens came. */
  gapsMs: number[];
  calls: number;
  /** Processor time of the system's own processes. */
  cpuMs: number;
}

/** What every system has shown in a setting. */
export interface Measured {
  setting: Setting;
  turns: ReadonlyMap<Name, Turn>;
}

/** Have clients call a system in their turns, their beginnings spread over the time of one call. */
export async function takeTurn(system: System, setting: Setting): Promise<Turn> {
  const { atOnce, callsEach, timing } = setting;
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  const spreadMs = timing.waitMs + timing.tokens * timing.paceMs;
  const turn: Turn = { wholeMs: [], firstMs: [], gapsMs: [], calls: atOnce * callsEach, cpuMs: 0 };
  try {
    const clients = Array.from({ length: atOnce }, (_, index) => index);
    const first = { ...setting, timing: opening };
    await Promise.all(clients.map(() => oneCall(system, first, agent)));
    const cpuMs = () => system.pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0);
    const before = cpuMs();
    const work = async (index: number): Promise<void> => {
      await sleep((spreadMs * index) / atOnce);
      for (let made = 0; made < callsEach; made++) {
        const { wholeMs, tokensAt, startedAt } = await oneCall(system, setting, agent);
        turn.wholeMs.push(wholeMs);
        if (setting.kind === 'whole') continue;
        turn.firstMs.push((tokensAt[0] ?? Number.NaN) - startedAt);
        for (let later = 1; later < tokensAt.length; later++)
          turn.gapsMs.push((tokensAt[later] ?? 0) - (tokensAt[later - 1] ?? 0));
      }
    };
    await Promise.all(clients.map(work));
    turn.cpuMs = cpuMs() - before;
  } finally {
    agent.destroy();
  }
  return turn;
}

interface Answered {
  startedAt: number;
  wholeMs: number;
  /** The moments at which tokens came, those that came together once. */
  tokensAt: number[];
}

/** @throws when tokens are missing: a figure over half an answer is none. */
async function oneCall(system: System, { kind, timing }: Setting, agent: Agent): Promise<Answered> {
  const tokensAt: number[] = [];
  let tokens = 0;
  // What came of a line whose rest is still on its way.
  let begun = '';
  const onText = (text: string, at: number): void => {
    const lines = begun + text;
    const end = lines.lastIndexOf('\n') + 1;
    begun = lines.slice(end);
    const found = lines.slice(0, end).match(stampPattern)?.length ?? 0;
    if (found > 0) tokensAt.push(at);
    tokens += found;
  };
  const startedAt = performance.now();
  await system[kind]({ model: timedModel(timing), agent, onText });
  const wholeMs = performance.now() - startedAt;
  tokens += begun.match(stampPattern)?.length ?? 0;
  if (tokens !== timing.tokens)
    throw new Error(`${system.name} answered ${tokens} tokens of ${timing.tokens}`);
  return { startedAt, wholeMs, tokensAt };
}
