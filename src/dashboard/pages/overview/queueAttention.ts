import type { WireProvider } from '../../../domain/wire/provider.ts';
import type { WireStats } from '../../../domain/wire/stats.ts';
import type { WireWorker } from '../../../domain/wire/worker.ts';
import { humanDuration } from '../../../lib/humanTime.ts';
import { count, plural } from '../../components/text.ts';
import type { Attention } from './attentionItem.ts';

/** Jobs that have waited longer are reported although workers take jobs like them, ms. */
const longWaitMs = 300_000;
/**
 * The coordinator reports this many groups by name, and merges the smaller ones under a name that is not a provider.
 */
const groupsMax = 100;
const otherGroups = 'other';

/** A provider with waiting jobs, and everything that may delay them. */
interface WaitingProvider {
  name: string;
  waiting: number;
  oldestMs: number;
  /** Connected workers that serve it. */
  serving: readonly WireWorker[];
  /** Those of them that take jobs. */
  taking: readonly WireWorker[];
  /** Running requests. */
  taken: number;
  free: number;
  provider: WireProvider | undefined;
}

/** What needs attention because jobs wait for it. */
export function attentionOfQueue(
  stats: WireStats,
  workers: readonly WireWorker[],
  providers: readonly WireProvider[],
): Attention[] {
  // While the coordinator assigns no jobs, that is the reason for every wait, and it has its own line.
  if (stats.coordinator.status !== 'accepting') return [];
  return lanesOf(stats, workers, providers).flatMap((lane) => attentionOfLane(lane) ?? []);
}

function lanesOf(
  { pending, slots }: WireStats,
  workers: readonly WireWorker[],
  providers: readonly WireProvider[],
): WaitingProvider[] {
  const connected = workers.filter((worker) => worker.connected);
  const known = new Map(providers.map((provider) => [provider.name, provider]));
  const slotsOf = new Map(slots.providers.map((one) => [one.provider, one]));
  const byProvider = Map.groupBy(pending, ({ provider }) => provider);
  if (pending.length > groupsMax) byProvider.delete(otherGroups);
  return [...byProvider].map(([name, groups]) => {
    const serving = connected.filter((worker) => worker.providers.includes(name));
    const { taken, free } = slotsOf.get(name) ?? { taken: 0, free: 0 };
    return {
      name,
      waiting: groups.reduce((sum, { ready }) => sum + ready, 0),
      oldestMs: Math.max(...groups.map(({ oldest_wait_ms: ms }) => ms)),
      serving,
      taking: serving.filter(takesJobs),
      taken,
      free,
      provider: known.get(name),
    };
  });
}

function takesJobs({ paused, concurrency, status }: WireWorker): boolean {
  return !paused && concurrency > 0 && status !== 'draining';
}

function attentionOfLane(lane: WaitingProvider): Attention | null {
  const { name, waiting, oldestMs, serving, taking } = lane;
  const jobs = plural(waiting, 'job');
  if (serving.length === 0) {
    return {
      key: `unserved ${name}`,
      kind: 'unserved',
      tone: 'bad',
      text: `${jobs} for ${name}, and no worker serves it`,
      advice: 'Connect a worker for it.',
      path: '/connect',
    };
  }
  if (taking.length === 0) {
    return {
      key: `idle ${name}`,
      kind: 'idle',
      tone: 'bad',
      text: `${jobs} for ${name}, and no worker for it takes jobs`,
      advice: idleAdvice(serving),
      path: '/workers',
    };
  }
  if (oldestMs <= longWaitMs) return null;
  return {
    key: `long ${name}`,
    kind: 'long',
    tone: 'warn',
    text: `The oldest of ${jobs} for ${name} has waited ${humanDuration(oldestMs)}`,
    advice: longAdvice(lane),
    path: '/jobs',
    query: { status: 'pending', provider: name },
  };
}

function idleAdvice(serving: readonly WireWorker[]): string {
  if (serving.some(({ paused }) => paused)) return 'Resume a paused worker.';
  if (serving.some(({ concurrency }) => concurrency === 0)) return 'Give one a concurrency of 1 or more.';
  return 'They are shutting down: start a worker for it.';
}

/** What would end a long wait. More slots help only when nothing else is missing. */
function longAdvice({ name, taking, serving, taken, free, provider }: WaitingProvider): string {
  if (provider?.status === 'limited') {
    return 'Its limit is reached, so more slots do not help. It is retried automatically; a higher limit at the provider helps.';
  }
  if (provider?.status === 'open') {
    return 'It is stopped after failures, so more slots do not help. See why, fix that, and reset it.';
  }
  if (provider?.status === 'probing')
    return 'One job is sent to see whether it works again; the others wait for that.';
  const most = provider?.max_concurrent ?? null;
  if (most !== null && taken >= most) {
    return `Its max_concurrent of ${count(most)} is reached, so more slots do not help. Raise it if the provider takes more.`;
  }
  const aside = taking.filter(({ refusals }) => refusals.some((refusal) => refusal.provider === name));
  if (aside.length === taking.length) return 'Its workers are set aside after failures: fix what failed.';
  if (free > 0) return 'Slots are free, so they wait for something else. Open one to see what.';
  if (aside.length > 0)
    return `Fix ${plural(aside.length, 'worker')} set aside after failures, or add workers.`;
  const isAnyPaused = serving.some(({ paused }) => paused);
  return isAnyPaused
    ? 'Every slot is taken: resume a paused worker, or add workers.'
    : 'Every slot is taken: more workers or slots start them sooner.';
}
