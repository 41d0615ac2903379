import type { IncomingMessage, Server, ServerOptions } from 'node:http';
import {
  assembleCore,
  assembleFront,
  type Core,
  type Front,
  refuseStarting,
  type Surroundings,
} from './assemble.ts';
import { hashSecret, makeKey } from './auth/keyFormat.ts';
import type { KeyRing } from './auth/keyRing.ts';
import { readAdminKey, writeAdminKey } from './config/adminKey.ts';
import type { Config } from './config/config.ts';
import { LiveConfig } from './config/liveConfig.ts';
import type { Coordinator } from './coordinator/coordinator.ts';
import { nobody } from './domain/audit.ts';
import type { Random } from './domain/clock.ts';
import type { KeyRecord } from './domain/key.ts';
import { Fronts, frontsByDefault } from './fronts/index.ts';
import { type DashboardFiles, dashboardFolder, readDashboard } from './http/dashboard.ts';
import { showInStately } from './inspect/stately.ts';
import { heapLimitBytes, watchHeap } from './lib/heapWatch.ts';
import { isLoopback, nearUrl } from './lib/hosts.ts';
import { Listener } from './lib/listener.ts';
import { listen, StartRefused } from './lib/listening.ts';
import type { Logger } from './lib/log.ts';
import { growHeapSlowly } from './lib/slowHeap.ts';
import { systemClock, systemRandom } from './lib/systemClock.ts';
import { watchVitals } from './lib/vitals.ts';
import { echoWorkerName, startEchoWorker } from './worker/embedded.ts';
import type { Worker } from './worker/worker.ts';

/** Between two looks at whether a request is late, ms; half of the shortest time that is allowed when that is less. */
const lateLookMs = 5_000;
/** Longer than the idle time of the usual proxies (60 s), so that it is the proxy that closes first. */
const defaultKeepAliveMs = 65_000;
/** How long requests under way may take to end after the drain, ms. */
const requestsEndMs = 2_000;

export interface ServiceOptions {
  /** A plain one stays as it is; a live one may be read again while the service runs. */
  config: Config | LiveConfig;
  /** An admin key that is always valid (SVC_API_KEY); null lets the first start make one. */
  apiKey: string | null;
  logger: Logger;
  /**
   * Has every event of every actor seen, for maintainers: on the Machines page and in `GET /api/inspect`, or in the
   * Stately inspector too. Off by default.
   */
  inspect?: 'page' | 'stately' | undefined;
  /** How long a connection may be quiet between two requests, ms; 65 s by default. */
  keepAliveMs?: number | undefined;
  /** Runs an echo worker in this process. */
  echoWorker?: { concurrency: number } | undefined;
}

export interface Service {
  /** `public_url`, or where it is reached from this machine. */
  url: string;
  /** A key with the role admin, when this process knows one. */
  adminKey: string | null;
  /** Whether the admin key was made by this very start: it is shown once. */
  isNewKey: boolean;
  /** Where the Stately inspector can be opened; null without `inspect: 'stately'`. */
  statelyUrl: string | null;
  /** Resolves when the store can no longer be trusted: end the process, non-zero. */
  failed: Promise<Error>;
  /** How many running jobs a stop would wait for now, and for how long at most. */
  awaited(): { jobs: number; graceSeconds: number };
  /** Stop in good order; leases of connected workers get `graceSeconds` (default `shutdown.grace_seconds`). */
  stop(graceSeconds?: number): Promise<void>;
}

/**
 * The whole coordinator in this process: store, actors, HTTP and sockets on one port.
 * @throws StoreLocked, StoreCorrupt, StoreFormatTooNew; StartRefused, also when it cannot listen.
 */
// Over 60 lines: the steps of a start in their order, with one way back from each.
export async function startService(options: ServiceOptions): Promise<Service> {
  const { logger, keepAliveMs = defaultKeepAliveMs } = options;
  const live = options.config instanceof LiveConfig ? options.config : LiveConfig.of(options.config);
  const config = () => live.current;
  const surroundings: Surroundings = { config, clock: systemClock, random: systemRandom(), logger };
  const vitals = watchVitals();
  const heap = watchMemory(logger, () => core.store.health().unreadBytes);
  const core: Core = assembleCore({
    ...surroundings,
    path: config().store.path,
    vitals: vitals.read,
    hasRoom: heap.hasRoom,
    inspects: options.inspect !== undefined,
    onBatches: growHeapSlowly,
  });
  const { coordinator } = core;
  const listener = new Listener(serverOptions(config(), keepAliveMs), refuseStarting);
  const { server } = listener;
  /** Each releases something that lives as long as the service, or until its start has failed. */
  const releases = [() => vitals.close(), () => heap.close(), () => listener.close()];
  const release = async (): Promise<void> => {
    for (const each of releases) each();
    await coordinator.close();
  };
  try {
    // Before the store: a start that is refused for its port leaves no folder and no key.
    const wanted = config().http.fronts ?? frontsByDefault();
    const { port, isShared } = await listen(server, config(), wanted > 0);
    const near = nearUrl(config().host, port);
    if (config().http.fronts !== null && wanted > 0 && !isShared)
      logger.warn('http.fronts has no effect: this system does not let processes share a port');
    await coordinator.start();
    const front = await assembleFront({
      ...surroundings,
      core,
      live,
      server,
      environmentKey: options.apiKey,
      dashboard: findDashboard(logger),
      heapBytes: heapLimitBytes(),
      hasProcessMetrics: true,
    });
    releases.push(() => front.close());
    const { adminKey, isNewKey } = await findAdminKey(options.apiKey, front.keys, surroundings);
    const stately = await openStately(options, coordinator, surroundings.random);
    releases.push(() => stately?.close());
    const { parts } = front;
    const fronts = isShared ? new Fronts({ count: wanted, port, keepAliveMs, parts, live, server }) : null;
    releases.unshift(() => fronts?.close());
    // Before anything is answered: a connection that the core takes itself stays its own.
    await fronts?.start();
    listener.open(front.answer);
    const url = config().publicUrl ?? near;
    logger.info({ url, store: config().store.path }, 'listening');
    followConfig(live, coordinator, logger);
    const worker = await startOwnWorker(options, {
      near,
      adminKey,
      coordinator,
      keys: front.keys,
      surroundings,
    });
    const stop = once(async (graceSeconds: number) => {
      await finish(graceSeconds * 1000, { coordinator, worker, server, front, fronts, logger });
      await release();
    });
    return {
      url,
      adminKey,
      isNewKey,
      statelyUrl: stately?.url ?? null,
      failed: core.store.failed,
      awaited: () => ({
        jobs: coordinator.heldByConnected(),
        graceSeconds: config().shutdown.graceSeconds,
      }),
      stop: (graceSeconds = config().shutdown.graceSeconds) => stop(graceSeconds),
    };
  } catch (error) {
    await release();
    throw error;
  }
}

/** @returns `run`, of which every call after the first gets what the first got. */
function once(run: (graceSeconds: number) => Promise<void>): (graceSeconds: number) => Promise<void> {
  let running: Promise<void> | null = null;
  return (graceSeconds) => {
    running ??= run(graceSeconds);
    return running;
  };
}

function watchMemory(logger: Logger, reservedBytes: () => number) {
  return watchHeap((hasRoom) => {
    if (hasRoom) logger.info('there is memory for new jobs again');
    else
      logger.warn('jobs fill the memory, new ones are refused: NODE_OPTIONS=--max-old-space-size gives more');
  }, reservedBytes);
}

function findDashboard(logger: Logger): DashboardFiles | null {
  const dashboard = readDashboard(dashboardFolder);
  if (dashboard === null)
    logger.warn('the dashboard is not built, see npm run build; a plain page is served');
  return dashboard;
}

async function openStately({ inspect }: ServiceOptions, { inspector }: Coordinator, random: Random) {
  return inspect === 'stately' && inspector !== null ? await showInStately(inspector, random) : null;
}

/** From now on a configuration that was read again reaches the coordinator and the logger. */
function followConfig(live: LiveConfig, coordinator: Coordinator, logger: Logger): void {
  let { level } = live.current.log;
  live.onReload((reloaded, by) => coordinator.configReloaded(reloaded, by));
  live.onChange(() => {
    // Only when it changed: the logger may have been made with another level.
    if (live.current.log.level !== level) logger.level = live.current.log.level;
    level = live.current.log.level;
    coordinator.configChanged();
  });
}

/** Drain, then end all that is under way. Nothing is closed yet. */
async function finish(
  graceMs: number,
  {
    coordinator,
    worker,
    server,
    front,
    fronts,
    logger,
  }: {
    coordinator: Coordinator;
    worker: Worker | null;
    server: Server;
    front: Front;
    fronts: Fronts | null;
    logger: Logger;
  },
): Promise<void> {
  // Together: /health says draining at once, and nothing is assigned while the embedded worker finishes.
  const drained = coordinator.drain(graceMs);
  await worker?.drain(graceMs);
  await drained;
  coordinator.dismiss();
  // Event streams are requests too, and would not end by themselves.
  front.events.close();
  await fronts?.stop();
  await endRequests(server, fronts);
  await front.keys
    .keepUsed()
    .catch((error: unknown) => logger.warn({ err: error }, 'the last use of keys is lost'));
}

/**
 * An admin key, when this process knows one. Without a key from the environment the first start makes one and leaves it in
 * the data folder.
 */
async function findAdminKey(
  apiKey: string | null,
  keys: KeyRing,
  { config: current, clock, random }: Surroundings,
): Promise<{ adminKey: string | null; isNewKey: boolean }> {
  const config = current();
  const stored = keys.list();
  if (!isLoopback(config.host) && apiKey === null && stored.every(({ name }) => name === firstKeyName)) {
    throw new StartRefused(
      `The host ${config.host} can be reached from other machines, and the only key is the one that the first start made. Make another with svc keys create while it listens on 127.0.0.1, or set SVC_API_KEY to a secret of 16 characters or more.`,
    );
  }
  if (apiKey !== null || stored.length > 0) {
    // With a key from the environment a file that cannot be read stops no start: it is only missing from the list.
    keys.noteFolderKey(await readAdminKey(config.store.path).catch(() => null));
    return { adminKey: apiKey ?? (await readOwnKey(config, keys)), isNewKey: false };
  }
  const { key, id, secret } = makeKey('admin', random);
  // The file first: a key that is stored and that nobody has seen would lock its owner out.
  await writeAdminKey(config.store.path, key);
  const record: KeyRecord = {
    id,
    role: 'admin',
    name: firstKeyName,
    secretHash: hashSecret(secret),
    previous: null,
    createdAt: clock.now(),
    expiresAt: null,
  };
  await keys.save(record, {
    by: nobody,
    action: 'key.created',
    target: { kind: 'key', id, name: firstKeyName },
    details: { role: 'admin', expires_at: null },
    outcome: 'done',
  });
  keys.noteFolderKey(key);
  return { adminKey: key, isNewKey: true };
}

/**
 * Start the echo worker that is part of this process, when it is asked for and there is a key for it. Its name may belong
 * to the key of an earlier start (the one that the first start made, or another SVC_API_KEY): the person who starts the service with it decides whose it is.
 */
async function startOwnWorker(
  { echoWorker }: ServiceOptions,
  own: {
    near: string;
    adminKey: string | null;
    coordinator: Coordinator;
    keys: KeyRing;
    surroundings: Surroundings;
  },
): Promise<Worker | null> {
  const { adminKey, surroundings } = own;
  if (echoWorker === undefined || adminKey === null) return null;
  const principal = own.keys.authenticate(`Bearer ${adminKey}`);
  if (typeof principal !== 'string') {
    const { keyId, name } = principal;
    await own.coordinator.handOverWorker(echoWorkerName, { keyId, name });
  }
  const { clock, random, logger } = surroundings;
  const { concurrency } = echoWorker;
  return startEchoWorker({ url: own.near, apiKey: adminKey, concurrency, clock, random, logger });
}

const firstKeyName = 'made by the first start';

async function readOwnKey(config: Config, keys: KeyRing): Promise<string | null> {
  const key = await readAdminKey(config.store.path);
  return key !== null && typeof keys.authenticate(`Bearer ${key}`) !== 'string' ? key : null;
}

/** Node ends requests whose head or body does not come in time: 408. */
function serverOptions({ http }: Config, keepAliveTimeout: number): ServerOptions {
  const headersTimeout = Math.ceil(http.headTimeoutSeconds * 1000);
  // Node takes no shorter time for the whole than for the head.
  const requestTimeout = Math.max(headersTimeout, Math.ceil(http.bodyTimeoutSeconds * 1000));
  return {
    headersTimeout,
    requestTimeout,
    keepAliveTimeout,
    connectionsCheckingInterval: Math.min(lateLookMs, Math.ceil(headersTimeout / 2)),
    shouldUpgradeCallback: isWebSocket,
  };
}

/** Only a WebSocket is an upgrade here; a client that offers HTTP/2 (h2c) is answered over HTTP/1.1 (RFC 9110, 7.8). */
function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/** Take no more connections, let the requests under way end, cut what is left. */
async function endRequests(server: Server, fronts: Fronts | null): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  // The server does not count what it did not accept itself.
  const ended = Promise.all([closed, fronts?.handedOverEnd()]);
  let cancel = () => {};
  const late = new Promise<void>((resolve) => {
    cancel = systemClock.after(requestsEndMs, resolve);
  });
  await Promise.race([ended, late]);
  cancel();
  server.closeAllConnections();
}
