import { type Fault, faultText } from '../../../domain/failure.ts';
import type { WireProvider } from '../../../domain/wire/provider.ts';
import { pausedQueueText } from '../../../domain/wire/queueText.ts';
import type { WireLiveRun } from '../../../domain/wire/run.ts';
import type { WireStats } from '../../../domain/wire/stats.ts';
import type { WireWorker } from '../../../domain/wire/worker.ts';
import { humanDuration } from '../../../lib/humanTime.ts';
import { plural } from '../../components/text.ts';
import type { Attention, AttentionKind } from './attentionItem.ts';
import { attentionOfQueue } from './queueAttention.ts';
import { attentionOfRuns } from './runAttention.ts';

const faultAdvice: Record<Fault, string> = {
  unreachable: 'Start its model server, or correct its address.',
  loading: 'Its jobs wait until the model is loaded.',
  refused: 'Give it a valid key and restart it.',
  missing: 'Load the model there, or correct its name.',
  failing: 'Check the log of its model server.',
};

/** Lines of one kind; beyond this there is one line with a count. */
const linesMax = 3;
/** A worker that left longer ago was probably switched off, ms. */
const leftRecentlyMs = 3_600_000;

/** What needs attention, the worst first. */
export function attentionOf(
  stats: WireStats,
  workers: readonly WireWorker[],
  providers: readonly WireProvider[],
  now: number,
  runs: readonly WireLiveRun[] = [],
): Attention[] {
  return summedUp([
    ...ofCoordinator(stats),
    ...ofStuck(stats),
    ...attentionOfQueue(stats, workers, providers),
    ...attentionOfRuns(runs),
    ...ofProviders(providers),
    ...ofWorkers(workers, now),
    ...ofRefused(stats),
    ...ofFailures(stats),
  ]).sort((a, b) => Number(a.tone === 'warn') - Number(b.tone === 'warn'));
}

type Summary = Pick<Attention, 'text' | 'advice' | 'path' | 'query'>;

const pending = { status: 'pending' };

const refusedAdvice = 'Give it a valid key, or change what its key allows.';

const unhandledAdvice =
  'To make jobs wait for it: svc config set providers.defaults.rate_limit "{max_retries: 5}" where the coordinator is.';

const summaries: Record<AttentionKind, (many: number) => Summary> = {
  unserved: (many) => ({
    text: `Jobs wait for ${plural(many, 'provider')} that no worker serves`,
    advice: 'Connect workers for them, or cancel the jobs.',
    path: '/jobs',
    query: pending,
  }),
  idle: (many) => ({
    text: `Jobs wait for ${plural(many, 'provider')} whose workers take no jobs`,
    advice: 'Resume workers, or give them slots.',
    path: '/workers',
  }),
  shut: (many) => ({
    text: `${plural(many, 'worker')} are refused`,
    advice: refusedAdvice,
    path: '/keys',
  }),
  unhandled: (many) => ({
    text: `${plural(many, 'provider')} answered 429, which fails their jobs`,
    advice: unhandledAdvice,
    path: '/providers',
  }),
  long: (many) => ({
    text: `Jobs for ${plural(many, 'provider')} wait long`,
    advice: 'Each job says what it waits for.',
    path: '/jobs',
    query: pending,
  }),
  open: (many) => ({
    text: `${plural(many, 'provider')} stopped: too many attempts failed`,
    advice: 'See why. Each is retried automatically, or at once when you reset it.',
    path: '/providers',
  }),
  limited: (many) => ({
    text: `${plural(many, 'provider')} reported that their limit is reached`,
    advice: 'They are retried automatically.',
    path: '/providers',
  }),
  aside: (many) => ({
    text: `Workers are set aside for ${plural(many, 'fault')}`,
    advice: 'The page of each worker says what to do.',
    path: '/workers',
  }),
  run: (many) => ({
    text: `${plural(many, 'run')} are paused`,
    advice: 'The page of each says why, and what to do.',
    path: '/runs',
    query: { status: 'paused' },
  }),
  gone: (many) => ({
    text: `${plural(many, 'worker')} disconnected`,
    advice: 'Start them again, or forget them.',
    path: '/workers',
  }),
};

/** Names are chosen by clients and workers: at most `linesMax` lines of each kind, or one with a count. */
function summedUp(found: readonly Attention[]): Attention[] {
  return [...Map.groupBy(found, ({ kind }) => kind)].flatMap(([kind, all]) => {
    const [first] = all;
    if (first === undefined || kind === 'single' || all.length <= linesMax) return all;
    return [{ key: kind, kind, tone: first.tone, ...summaries[kind](all.length) }];
  });
}

function ofCoordinator({ queue, coordinator: { store, status } }: WireStats): Attention[] {
  const found: Attention[] = [];
  if (store !== 'ok') {
    found.push({
      key: 'store',
      kind: 'single',
      tone: 'bad',
      text: 'The store cannot write: the coordinator accepts nothing new',
      advice: 'Read its log and check whether the disk is full.',
      path: '/',
    });
  }
  if (queue.paused) {
    found.push({
      key: 'queue',
      kind: 'single',
      tone: 'warn',
      text: pausedQueueText(queue),
      advice: 'Jobs wait until an operator resumes it; running jobs continue.',
      path: '/',
    });
  }
  if (status !== 'accepting' && status !== 'paused') {
    found.push({
      key: 'status',
      kind: 'single',
      tone: 'warn',
      text: `The coordinator is ${status}`,
      advice:
        status === 'draining' || status === 'stopped'
          ? 'It is shutting down: waiting jobs are kept for its next start.'
          : 'It starts no jobs until it accepts them again.',
      path: '/machines/supervisor',
    });
  }
  return found;
}

function ofStuck({ jobs }: WireStats): Attention[] {
  const stuck = jobs.by_state['running.stuck'];
  if (stuck === 0) return [];
  return [
    {
      key: 'stuck',
      kind: 'single',
      tone: 'bad',
      text: `${plural(stuck, 'job')} stuck: the worker crashed or lost the connection`,
      advice: 'A retry sends it back to the queue at once.',
      path: '/jobs',
      query: { state: 'running.stuck' },
    },
  ];
}

function ofProviders(providers: readonly WireProvider[]): Attention[] {
  return providers.flatMap(({ name, status, rate_limit: handling }): Attention[] => {
    if (status === 'open') {
      return [
        {
          key: `open ${name}`,
          kind: 'open',
          tone: 'bad',
          text: `${name} is stopped: too many attempts failed`,
          advice: 'See why. It is retried automatically, or at once when you reset it.',
          path: '/providers',
        },
      ];
    }
    if (status !== 'limited') return [];
    if (handling === null) {
      const text = `${name} answered 429, which fails its jobs`;
      const key = `unhandled ${name}`;
      return [{ key, kind: 'unhandled', tone: 'bad', text, advice: unhandledAdvice, path: '/providers' }];
    }
    return [
      {
        key: `limited ${name}`,
        kind: 'limited',
        tone: 'warn',
        text: `${name} reported that its limit is reached`,
        advice: 'It is retried automatically.',
        path: '/providers',
      },
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
        kind: 'aside',
        tone: 'bad',
        text: `Worker ${name} ${faultText(refusal)}`,
        advice: faultAdvice[refusal.fault],
        path,
      }));
    }
    if (last === null) return [];
    const agoMs = now - Date.parse(last);
    if (agoMs > leftRecentlyMs && running === 0) return [];
    const text = `Worker ${name} disconnected ${humanDuration(agoMs)} ago`;
    const advice = 'Start it again, or forget it.';
    return [{ key: `gone ${id}`, kind: 'gone', tone: 'warn', text, advice, path }];
  });
}

function ofRefused({ refused_workers: refused }: WireStats): Attention[] {
  return refused.map(({ name, address, why }) => ({
    key: `shut ${name} ${address} ${why}`,
    kind: 'shut',
    tone: 'bad',
    text: `A worker ${name === null ? `at ${address ?? 'an unknown address'}` : name} is refused: ${why}`,
    advice: refusedAdvice,
    path: '/keys',
  }));
}

function ofFailures({ throughput }: WireStats): Attention[] {
  const { failed } = throughput.last_15m;
  if (failed === 0) return [];
  return [
    {
      key: 'failed',
      kind: 'single',
      tone: 'warn',
      text: `${plural(failed, 'job')} failed in the last 15 minutes`,
      advice: 'Each row says why. Retry the jobs that can succeed.',
      path: '/jobs',
      query: { status: 'failed' },
    },
  ];
}
