import { type Fault, faultText } from '../../../domain/failure.ts';
import type { WireProvider } from '../../../domain/wire/provider.ts';
import type { WireStats } from '../../../domain/wire/stats.ts';
import type { WireWorker } from '../../../domain/wire/worker.ts';
import { humanDuration } from '../../../lib/humanTime.ts';
import { plural } from '../../components/text.ts';

const faultFixes: Record<Fault, string> = {
  unreachable: 'Start its model server, or correct its address.',
  loading: 'Its jobs wait until the model is loaded.',
  refused: 'Give it a valid key and restart it.',
  missing: 'Load the model there, or correct its name.',
  failing: 'Look into the log of its model server.',
};

/** Something that somebody should look at, and where to do something about it. */
export interface Attention {
  key: string;
  tone: 'bad' | 'warn';
  text: string;
  /** What to do. */
  mend: string;
  path: string;
  query?: Record<string, string>;
}

/** A worker that left longer ago is one that somebody has switched off, ms. */
const leftLatelyMs = 3_600_000;
/** A wait that is worth a word although nothing is in the way of it, ms. */
const longWaitMs = 300_000;

/** What needs attention, the worst first. */
export function attentionOf(
  stats: WireStats,
  workers: readonly WireWorker[],
  providers: readonly WireProvider[],
  now: number,
): Attention[] {
  return [
    ...ofCoordinator(stats),
    ...ofQueue(stats, workers),
    ...ofProviders(providers),
    ...ofWorkers(workers, now),
    ...ofFailures(stats),
  ].sort((a, b) => Number(a.tone === 'warn') - Number(b.tone === 'warn'));
}

function ofCoordinator({ coordinator: { store, status } }: WireStats): Attention[] {
  const found: Attention[] = [];
  if (store !== 'ok') {
    const text = 'The store cannot write: nothing new is accepted';
    found.push({
      key: 'store',
      tone: 'bad',
      text,
      mend: 'See the log of the coordinator; is the disk full?',
      path: '/',
    });
  }
  if (status !== 'accepting') {
    const text = `The coordinator is ${status}`;
    found.push({
      key: 'status',
      tone: 'warn',
      text,
      mend: 'Jobs start again when it accepts them.',
      path: '/machines/supervisor',
    });
  }
  return found;
}

function ofQueue({ jobs, pending }: WireStats, workers: readonly WireWorker[]): Attention[] {
  const found: Attention[] = [];
  const stuck = jobs.by_state['running.stuck'];
  if (stuck > 0) {
    const text = `${plural(stuck, 'job')} stuck: the worker crashed or lost the connection`;
    found.push({
      key: 'stuck',
      tone: 'bad',
      text,
      mend: 'It goes to another worker by itself, or at once by a retry.',
      path: '/jobs',
      query: { state: 'running.stuck' },
    });
  }
  const connected = workers.filter((worker) => worker.connected);
  const byProvider = Map.groupBy(pending, ({ provider }) => provider);
  for (const [provider, groups] of byProvider) {
    const waiting = groups.reduce((sum, { ready }) => sum + ready, 0);
    const oldestMs = Math.max(...groups.map(({ oldest_wait_ms: ms }) => ms));
    const query = { status: 'pending', provider };
    const serving = connected.filter(({ providers }) => providers.includes(provider));
    if (serving.length === 0) {
      found.push({
        key: `nobody ${provider}`,
        tone: 'bad',
        text: `${plural(waiting, 'job')} for ${provider}, and no worker serves it`,
        mend: 'Connect a worker for it.',
        path: '/connect',
      });
    } else if (serving.every(({ paused, concurrency }) => paused || concurrency === 0)) {
      found.push({
        key: `paused ${provider}`,
        tone: 'bad',
        text: `${plural(waiting, 'job')} for ${provider}, and every worker for it is paused`,
        mend: 'Resume one.',
        path: '/workers',
      });
    } else if (oldestMs > longWaitMs) {
      found.push({
        key: `long ${provider}`,
        tone: 'warn',
        text: `The oldest of ${plural(waiting, 'job')} for ${provider} has waited ${humanDuration(oldestMs)}`,
        mend: 'More slots make it quicker.',
        path: '/jobs',
        query,
      });
    }
  }
  return found;
}

function ofProviders(providers: readonly WireProvider[]): Attention[] {
  return providers.flatMap(({ name, status, rate_limit: handling }): Attention[] => {
    if (status === 'open') {
      const text = `${name} is left alone: too many attempts failed`;
      return [
        {
          key: `open ${name}`,
          tone: 'bad',
          text,
          mend: 'See why, and reset it when it is mended.',
          path: '/providers',
        },
      ];
    }
    if (status !== 'limited') return [];
    if (handling === null) {
      const text = `${name} answered 429, which fails its jobs`;
      const mend = 'Set providers.defaults.rate_limit in the configuration, then they wait.';
      return [{ key: `unhandled ${name}`, tone: 'bad', text, mend, path: '/providers' }];
    }
    const text = `${name} has reached its limit`;
    return [
      { key: `limited ${name}`, tone: 'warn', text, mend: 'It goes on by itself.', path: '/providers' },
    ];
  });
}

function ofWorkers(workers: readonly WireWorker[], now: number): Attention[] {
  return workers.flatMap((worker): Attention[] => {
    const { id, name, connected, last_heartbeat_at: last, running } = worker;
    const path = `/workers/${id}`;
    if (connected) {
      return worker.refusals.map((refusal) => ({
        key: `aside ${id} ${refusal.provider} ${refusal.fault} ${refusal.model}`,
        tone: 'bad',
        text: `Worker ${name} ${faultText(refusal)}`,
        mend: faultFixes[refusal.fault],
        path,
      }));
    }
    if (last === null) return [];
    const agoMs = now - Date.parse(last);
    if (agoMs > leftLatelyMs && running === 0) return [];
    const text = `Worker ${name} has been gone for ${humanDuration(agoMs)}`;
    return [{ key: `gone ${id}`, tone: 'warn', text, mend: 'Start it again, or forget it.', path }];
  });
}

function ofFailures({ throughput }: WireStats): Attention[] {
  const { failed } = throughput.last_15m;
  if (failed === 0) return [];
  const text = `${plural(failed, 'job')} failed in the last 15 minutes`;
  const mend = 'See why, and retry those that deserve it.';
  return [{ key: 'failed', tone: 'warn', text, mend, path: '/jobs', query: { status: 'failed' } }];
}
