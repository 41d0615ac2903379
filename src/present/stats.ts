import type { Spread, Stats, StatsPoint, Throughput } from '../domain/stats.ts';
import { iso } from '../domain/wire/iso.ts';
import type { WireSpread, WireStats, WireStatsPoint, WireThroughput } from '../domain/wire/stats.ts';
import { presentQueue } from './queue.ts';

/** The figures of the coordinator, for the API and the live events. */
export function presentStats(stats: Stats): WireStats {
  const { jobs, slots, throughput, tokensPerSecond, coordinator } = stats;
  const { vitals } = coordinator;
  return {
    at: iso(stats.at),
    jobs: { total: jobs.total, by_status: jobs.byStatus, by_state: jobs.byState },
    pending: stats.pending.map(({ provider, priority, ready, oldestWaitMs }) => ({
      provider,
      priority,
      ready,
      oldest_wait_ms: oldestWaitMs,
    })),
    slots: {
      ...slots,
      workers: slots.workers.map(({ lastHeartbeatAt, ...worker }) => ({
        ...worker,
        last_heartbeat_at: iso(lastHeartbeatAt),
      })),
    },
    refused_workers: stats.refusedWorkers.map(({ since, at, ...refused }) => ({
      ...refused,
      since: iso(since),
      at: iso(at),
    })),
    throughput: {
      last_1m: presentThroughput(throughput.last1m),
      last_5m: presentThroughput(throughput.last5m),
      last_15m: presentThroughput(throughput.last15m),
    },
    wait: presentSpread(stats.wait),
    run: presentSpread(stats.run),
    tokens_per_second: { input: rounded(tokensPerSecond.input), output: rounded(tokensPerSecond.output) },
    queue: presentQueue(stats.queue),
    coordinator: {
      status: coordinator.status,
      uptime_seconds: Math.round(coordinator.uptimeMs / 1000),
      store: coordinator.store,
      journal_bytes: coordinator.journalBytes,
      event_loop_delay_p99_ms: vitals === null ? null : rounded(vitals.eventLoopDelayP99Ms),
      rss_bytes: vitals?.rssBytes ?? null,
    },
  };
}

/** A step of a history for the API. */
export function presentStatsPoint(point: StatsPoint): WireStatsPoint {
  const { at, throughput, pending, running, wait, run, tokensPerSecond } = point;
  return {
    at: iso(at),
    throughput: presentThroughput(throughput),
    pending,
    running,
    wait: presentSpread(wait),
    run: presentSpread(run),
    tokens_per_second: { input: rounded(tokensPerSecond.input), output: rounded(tokensPerSecond.output) },
  };
}

/** A throughput has one word for each count, internally and on the wire. */
function presentThroughput(throughput: Throughput): WireThroughput {
  return throughput;
}

function presentSpread({ count, p50, p95 }: Spread): WireSpread {
  return {
    count,
    p50_ms: p50 === null ? null : rounded(p50),
    p95_ms: p95 === null ? null : rounded(p95),
  };
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
