import type { Config } from './config.ts';
import { leavesOf } from './leaves.ts';
import { presentConfig } from './present.ts';

/** One changed setting, secrets masked. null: not set. */
export interface ConfigChange {
  /** Key path as in the file. */
  key: string;
  from: unknown;
  to: unknown;
}

/**
 * `next`, but with everything of `now` that only a restart can change: the coordinator listens at an address, has its
 * store open, has started its fronts, has placed jobs in the queue by the priorities, has sent workers the heartbeat interval when they
 * connected, and Node gets the limits of connections once.
 */
export function withFixed(next: Config, now: Config): Config {
  const { priorities, heartbeatIntervalSeconds } = now.jobs;
  const { fronts, maxConnections, headTimeoutSeconds, bodyTimeoutSeconds } = now.http;
  return {
    ...next,
    host: now.host,
    port: now.port,
    store: now.store,
    jobs: { ...next.jobs, priorities, heartbeatIntervalSeconds },
    http: { ...next.http, fronts, maxConnections, headTimeoutSeconds, bodyTimeoutSeconds },
  };
}

/** Every setting that differs, in the order of the file. A changed secret is listed without its value. */
export function changesBetween(from: Config, to: Config): ConfigChange[] {
  const [before, after] = [settingsOf(from), settingsOf(to)];
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key) => {
    const [old, now] = [before.get(key) ?? unset, after.get(key) ?? unset];
    return JSON.stringify(old.value) === JSON.stringify(now.value)
      ? []
      : [{ key, from: old.shown, to: now.shown }];
  });
}

interface Setting {
  /** For comparison; contains secrets. */
  value: unknown;
  shown: unknown;
}

const unset: Setting = { value: null, shown: null };

/** An empty map holds no setting. */
function settingsOf(config: Config): Map<string, Setting> {
  const shown = new Map(leavesOf(presentConfig(config)).map(({ path, value }) => [path, value]));
  return new Map(
    leavesOf(presentConfig(config, 'plain'))
      .filter(({ value }) => typeof value !== 'object' || value === null || Array.isArray(value))
      .map(({ path, value }) => [path, { value, shown: shown.get(path) ?? null }]),
  );
}
