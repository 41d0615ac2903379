import { setTimeout as sleep } from 'node:timers/promises';
import type { Tally } from './tally.ts';

export const actors = ['client', 'viewer', 'worker', 'stranger'] as const;
export type Actor = (typeof actors)[number];

/** What a process of attackers is started with. */
export interface AttackerSetup {
  actor: Actor;
  url: string;
  /** null: no key at all. */
  key: string | null;
  /** The address it comes from, 127.0.0.x: the coordinator sees each actor at an address of its own. */
  from: string;
  ms: number;
  /** A tenth of the connections. */
  quick: boolean;
  /** null: all attacks. */
  only: readonly string[] | null;
}

/** What an attack works with. */
export interface Siege {
  url: string;
  host: string;
  port: number;
  key: string | null;
  from: string;
  /** Aborted when the siege is over. */
  over: AbortSignal;
  tally: Tally;
}

export interface Attack {
  name: string;
  /** Rounds under way at once. */
  atOnce: number;
  /** Between two rounds of one place, ms. */
  pauseMs: number;
  /** @returns how it ended; null when the round has counted by itself. */
  round(siege: Siege, turn: number): Promise<string | null>;
}

/** After an error of the network, ms: a coordinator that is gone is not to be met by a busy loop. */
const errorPauseMs = 500;
const startSpreadMs = 2_000;
const quickShare = 0.1;

/** Run all attacks beside one another until the siege is over. */
export async function attackAll(attacks: readonly Attack[], siege: Siege, isQuick: boolean): Promise<void> {
  const places = attacks.flatMap((attack) => {
    const count = Math.ceil(attack.atOnce * (isQuick ? quickShare : 1));
    return Array.from({ length: count }, (_, place) => ({ attack, place, count }));
  });
  await Promise.all(
    places.map(async ({ attack, place, count }) => {
      await pause((place / count) * startSpreadMs, siege.over);
      for (let turn = place; !siege.over.aborted; turn += count) {
        const outcome = await attack.round(siege, turn).catch(codeOf);
        // What the end of the siege cuts off is no outcome.
        if (outcome !== null && !siege.over.aborted) siege.tally.count(attack.name, outcome);
        const isError = outcome !== null && /^E[A-Z]/.test(outcome);
        await pause(Math.max(attack.pauseMs, isError ? errorPauseMs : 0), siege.over);
      }
    }),
  );
}

export async function pause(ms: number, over: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: over }).catch(() => {});
}

/** A short name of an error: its code where it has one. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message.slice(0, 60);
}
