import type { IncomingMessage, Server, ServerOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FailedLogins } from './auth/failedLogins.ts';
import { hashSecret, makeKey } from './auth/keyFormat.ts';
import { KeyRing } from './auth/keyRing.ts';
import { Tickets } from './auth/tickets.ts';
import { readAdminKey, writeAdminKey } from './config/adminKey.ts';
import type { Config } from './config/config.ts';
import { LiveConfig } from './config/liveConfig.ts';
import { Coordinator } from './coordinator/coordinator.ts';
import { keyStorage } from './coordinator/keyStorage.ts';
import { auditRoleRefusals } from './coordinator/roleRefusals.ts';
import { createPricing } from './cost/pricing.ts';
import { nobody } from './domain/audit.ts';
import type { Random } from './domain/clock.ts';
import type { KeyRecord } from './domain/key.ts';
import { WorkerGateway } from './gateway/workerGateway.ts';
import { createApp } from './http/app.ts';
import { dashboardFolder, readDashboard } from './http/dashboard.ts';
import { upgradeRefusal } from './http/problem.ts';
import { Uploads } from './http/uploads.ts';
import { showInStately } from './inspect/stately.ts';
import { AnswerMemory } from './lib/answerMemory.ts';
import type { BoundFigures } from './lib/boundFigures.ts';
import { clientAddress } from './lib/clientAddress.ts';
import { Connections } from './lib/connections.ts';
import { heapLimitBytes, watchHeap } from './lib/heapWatch.ts';
import { isLoopback, nearUrl } from './lib/hosts.ts';
import { Listener } from './lib/listener.ts';
import type { Logger } from './lib/log.ts';
import { systemClock, systemRandom } from './lib/systemClock.ts';
import { routeUpgrades, type UpgradeHandler } from './lib/upgrades.ts';
import { watchVitals } from './lib/vitals.ts';
import { EventStreams } from './live/eventStream.ts';
import { Live } from './live/live.ts';
import { LiveSocket } from './live/liveSocket.ts';
import { Metrics } from './metrics/metrics.ts';
import { createJsonStore } from './store/json/jsonStore.ts';
import { type EchoWorkerOptions, echoWorkerName, startEchoWorker } from './worker/embedded.ts';
import type { Worker } from './worker/worker.ts';

/** Between two looks at whether a request is late, ms; half of the shortest time that is allowed when that is less. */
const lateLookMs = 5_000;
/** Longer than the idle time of the usual proxies (60 s), so that it is the proxy that closes first. */
const defaultKeepAliveMs = 65_000;
const dayMs = 86_400_000;
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
   * Stately inspector too. Off unless told.
   */
  inspect?: 'page' | 'stately' | undefined;
  /** How long a connection may be quiet between two requests, ms; 65 s unless told. */
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

/** The start of the service is refused for a reason that its operator can mend. */
export class StartRefused extends Error {}

/**
 * The whole coordinator in this process: store, actors, HTTP and sockets on one port.
 * @throws StoreLocked, StoreCorrupt, StoreFormatTooNew; StartRefused, also when it cannot listen.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { logger } = options;
  const live = options.config instanceof LiveConfig ? options.config : LiveConfig.of(options.config);
  const config = () => live.current;
  const { store: storeAt, jobs } = config();
  const clock = systemClock;
  const random = systemRandom();
  let metrics: Metrics | null = null;
  const store = createJsonStore({
    path: storeAt.path,
    clock,
    logger,
    auditKeptMs: () => config().retention.auditDays * dayMs,
    headStart: (priority) => (jobs.priorities[priority] ?? 0) * 1000,
    onCommit: (tookMs) => metrics?.committed(tookMs),
  });
  const vitals = watchVitals();
  const heap = watchHeap((hasRoom) => {
    if (hasRoom) logger.info('there is memory for new jobs again');
    else
      logger.warn('jobs fill the memory, new ones are refused: NODE_OPTIONS=--max-old-space-size gives more');
  });
  const coordinator = new Coordinator({
    config,
    store,
    clock,
    random,
    logger,
    pricing: createPricing(config, clock),
    vitals: vitals.read,
    hasRoom: heap.hasRoom,
    inspects: options.inspect !== undefined,
  });
  const listener = new Listener(serverOptions(config(), options.keepAliveMs ?? defaultKeepAliveMs));
  const { server } = listener;
  /** Each lets go of something that lives as long as the service, or until its start has failed. */
  const ends = [() => vitals.close(), () => heap.close(), () => listener.close()];
  const end = async (): Promise<void> => {
    for (const letGo of ends) letGo();
    await coordinator.close();
  };
  try {
    // Before the store: a start that is refused for its port leaves no folder and no key.
    const near = await listen(server, config());
    await coordinator.start();
    const keys = new KeyRing({
      clock,
      random,
      environmentKey: options.apiKey,
      keys: await store.keys(),
      storage: keyStorage(store, coordinator.audit),
    });
    ends.push(() => keys.close());
    const { adminKey, isNewKey } = await findAdminKey(config(), options.apiKey, keys, random);
    const tickets = new Tickets({ clock, random });
    metrics = new Metrics({ coordinator, config, process: true });
    ends.push(() => metrics?.close());
    const { bounds } = metrics;
    const failedLogins = countFailedLogins(config, bounds, logger);
    const answers = new AnswerMemory({
      clock,
      bytes: () => config().http.answerMemoryBytes,
      share: () => config().http.shares.bytesOut,
      figures: bounds,
    });
    ends.push(() => answers.close());
    const events = new Live({ coordinator, config, answers, clock, random, logger, figures: bounds });
    // In force with the next start.
    const { maxConnections } = config().http;
    const connections = new Connections({
      clock,
      max: () => maxConnections,
      share: () => config().http.shares.connections,
      unreadMs: () => config().http.unreadTimeoutSeconds * 1000,
      figures: bounds,
    });
    ends.push(() => connections.close());
    const streams = new EventStreams({ live: events, coordinator, keys, clock });
    const dashboard = readDashboard(dashboardFolder);
    if (dashboard === null)
      logger.warn('the dashboard is not built, see npm run build; a plain page is served');
    const uploads = new Uploads({
      http: () => config().http,
      clock,
      figures: bounds,
      heapBytes: heapLimitBytes(),
    });
    ends.push(() => uploads.close());
    const app = createApp({
      coordinator,
      keys,
      tickets,
      failedLogins,
      connections,
      answers,
      streams,
      config,
      live,
      metrics,
      uploads,
      dashboard,
      clock,
      logger,
    });
    connections.watch(server);
    bounds.watch({
      connections: () => connections.count,
      subscribers: () => events.subscriberCount,
      bodyBytes: () => uploads.held,
      answerBytes: () => answers.held,
      unsentBytes: () => events.unsentBytes,
      outputSize: () => events.outputSize,
      keptBytes: () => events.keptBytes,
      tickets: () => tickets.count,
    });
    const roleRefused = auditRoleRefusals(coordinator.audit, () => config().http.trustedProxies);
    const gateway = new WorkerGateway({
      coordinator,
      keys,
      connections,
      clock,
      logger,
      figures: bounds,
      roleRefused,
      addressOf: (request) => clientAddress(request, config().http.trustedProxies),
    });
    const dashboards = new LiveSocket({
      live: events,
      keys,
      tickets,
      config,
      connections,
      clock,
      roleRefused,
    });
    ends.push(
      () => gateway.close(),
      () => dashboards.close(),
    );
    const handlers = new Map<string, UpgradeHandler>([
      ['/ws', (request, socket, head) => dashboards.upgrade(request, socket, head)],
      ['/ws/worker', (request, socket, head) => gateway.upgrade(request, socket, head)],
    ]);
    routeUpgrades(server, {
      handlers,
      own: config,
      failedLogin: (request) => failedLogins.count(clientAddress(request, config().http.trustedProxies)),
      present: upgradeRefusal,
      logger,
    });
    const { inspector } = coordinator;
    const stately =
      options.inspect === 'stately' && inspector !== null ? await showInStately(inspector, random) : null;
    ends.push(() => stately?.close());
    listener.open(connections.inTurn(app.callback()));
    const url = config().publicUrl ?? near;
    logger.info({ url, store: storeAt.path }, 'listening');
    let { level } = config().log;
    live.onReload((reloaded, by) => coordinator.configReloaded(reloaded, by));
    live.onChange(() => {
      // Only then: whoever made the logger may have given it another one.
      if (config().log.level !== level) logger.level = config().log.level;
      level = config().log.level;
      coordinator.configChanged();
    });
    const worker =
      options.echoWorker === undefined || adminKey === null
        ? null
        : await startOwnWorker(coordinator, keys, {
            url: near,
            apiKey: adminKey,
            concurrency: options.echoWorker.concurrency,
            clock,
            random,
            logger,
          });
    let stopping: Promise<void> | null = null;
    const stop = async (graceSeconds: number): Promise<void> => {
      // Together: /health says draining at once, and nothing is assigned while the embedded worker finishes.
      const drained = coordinator.drain(graceSeconds * 1000);
      await worker?.drain(graceSeconds * 1000);
      await drained;
      coordinator.dismiss();
      // Event streams are requests too, and would not end by themselves.
      events.close();
      await endRequests(server);
      await keys
        .keepUsed()
        .catch((error: unknown) => logger.warn({ err: error }, 'the last use of keys is lost'));
      await end();
    };
    return {
      url,
      adminKey,
      isNewKey,
      statelyUrl: stately?.url ?? null,
      failed: store.failed,
      awaited: () => ({
        jobs: coordinator.heldByConnected(),
        graceSeconds: config().shutdown.graceSeconds,
      }),
      stop: (graceSeconds = config().shutdown.graceSeconds) => {
        stopping ??= stop(graceSeconds);
        return stopping;
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/**
 * An admin key, when this process knows one. Without a key from the environment the first start makes one and leaves it in
 * the data folder.
 */
async function findAdminKey(
  config: Config,
  apiKey: string | null,
  keys: KeyRing,
  random: Random,
): Promise<{ adminKey: string | null; isNewKey: boolean }> {
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
    createdAt: systemClock.now(),
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
 * Start the echo worker that is part of this process. Its name may belong to the key of an earlier start (the one that the
 * first start made, or another SVC_API_KEY): whoever starts the service with it has decided whose it is.
 */
async function startOwnWorker(
  coordinator: Coordinator,
  keys: KeyRing,
  options: EchoWorkerOptions,
): Promise<Worker> {
  const principal = keys.authenticate(`Bearer ${options.apiKey}`);
  if (typeof principal !== 'string') {
    await coordinator.handOverWorker(echoWorkerName, { keyId: principal.keyId, name: principal.name });
  }
  return startEchoWorker(options);
}

const firstKeyName = 'made by the first start';

async function readOwnKey(config: Config, keys: KeyRing): Promise<string | null> {
  const key = await readAdminKey(config.store.path);
  return key !== null && typeof keys.authenticate(`Bearer ${key}`) !== 'string' ? key : null;
}

/** Refused keys are counted by address; the log is told once when an address begins to be refused for their number. */
function countFailedLogins(config: () => Config, figures: BoundFigures, logger: Logger): FailedLogins {
  return new FailedLogins({
    perMinute: () => config().http.failedLoginsPerMinute,
    onRefused: ({ source, isLimited, isFirst }) => {
      figures.keyRefused(isLimited);
      if (isFirst) logger.warn({ source }, 'too many refused keys from one address');
    },
  });
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

/** @returns where it is reached from this machine. */
function listen(server: Server, config: Config): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const onError = (error: NodeJS.ErrnoException): void => {
    reject(new StartRefused(cannotListen(error, config), { cause: error }));
  };
  server.once('error', onError);
  server.listen(config.port, config.host, () => {
    server.off('error', onError);
    const { port } = server.address() as AddressInfo;
    resolve(nearUrl(config.host, port));
  });
  return promise;
}

function cannotListen({ code, message }: NodeJS.ErrnoException, { host, port }: Config): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is taken, perhaps by another coordinator. Choose another one with --port or SVC_PORT.`;
    case 'EACCES':
      return `This user may not listen on port ${port}. Choose one above 1023 with --port or SVC_PORT.`;
    case 'EADDRNOTAVAIL':
      return `This machine has no address ${host}. Mend host, --host or SVC_HOST.`;
    default:
      return `It cannot listen on ${host}, port ${port}: ${message}`;
  }
}

/** Take no more connections, let the requests under way end, cut what is left. */
async function endRequests(server: Server): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  let cancel = () => {};
  const late = new Promise<void>((resolve) => {
    cancel = systemClock.after(requestsEndMs, resolve);
  });
  await Promise.race([ended, late]);
  cancel();
  server.closeAllConnections();
}
