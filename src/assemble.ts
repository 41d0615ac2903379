/*
 * Puts the parts of one coordinator together: the core (store and job coordinator), and the front that serves it (keys,
 * API, live events, sockets). Nothing here starts, listens or reads the process; the service and the tests do.
 */

import type { RequestListener, Server } from 'node:http';
import { resolve } from 'node:path';
import { FailedLogins } from './auth/failedLogins.ts';
import { KeyRing } from './auth/keyRing.ts';
import { Tickets } from './auth/tickets.ts';
import type { Config } from './config/config.ts';
import type { LiveConfig } from './config/liveConfig.ts';
import { Coordinator } from './coordinator/coordinator.ts';
import { keyStorage } from './coordinator/keyStorage.ts';
import type { CoordinatorOptions } from './coordinator/parts.ts';
import { auditRoleRefusals } from './coordinator/roleRefusals.ts';
import { createPricing } from './cost/pricing.ts';
import type { Clock, Random } from './domain/clock.ts';
import type { WebhookSender } from './domain/webhook.ts';
import { openAiDoor, openBatches, startingError } from './front/openai/index.ts';
import { WorkerGateway } from './gateway/workerGateway.ts';
import { createApp } from './http/app.ts';
import type { DashboardFiles } from './http/dashboard.ts';
import type { HttpParts } from './http/parts.ts';
import { upgradeRefusal } from './http/problem.ts';
import { refuseWhileStarting, startingText } from './http/starting.ts';
import { Uploads } from './http/uploads.ts';
import { AnswerMemory } from './lib/answerMemory.ts';
import type { BoundFigures } from './lib/boundFigures.ts';
import { clientAddress } from './lib/clientAddress.ts';
import { Connections } from './lib/connections.ts';
import type { Logger } from './lib/log.ts';
import { RateLimiter } from './lib/rateLimiter.ts';
import { SchemaChecks } from './lib/schemaChecks.ts';
import { routeUpgrades, type UpgradeHandler } from './lib/upgrades.ts';
import { EventStreams } from './live/eventStream.ts';
import { Live } from './live/live.ts';
import { LiveSocket } from './live/liveSocket.ts';
import { mcpDoor } from './mcp/index.ts';
import { Metrics } from './metrics/metrics.ts';
import { FolderBlobs } from './store/json/blobs.ts';
import { nodeFiles } from './store/json/files.ts';
import { createJsonStore, type JsonStore, type JsonStoreOptions } from './store/json/jsonStore.ts';
import { layoutOf } from './store/json/layout.ts';
import type { Store } from './store/store.ts';
import { ThreadSender } from './webhooks/index.ts';

const dayMs = 86_400_000;

/** Refuses every request until there is a front. */
export const refuseStarting: RequestListener = refuseWhileStarting({ '/v1': startingError(startingText) });

/** What every part of one coordinator shares. */
export interface Surroundings {
  config: () => Config;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Where the data is, and how its files are reached; `files`, `lock` and `checkpointBytes` are for tests. */
type StorePlace = Pick<JsonStoreOptions, 'path' | 'files' | 'lock' | 'checkpointBytes'>;

export interface CoreOptions
  extends Surroundings,
    StorePlace,
    Pick<CoordinatorOptions, 'vitals' | 'hasRoom' | 'onBatches' | 'inspects' | 'idempotencyKeysMax'> {
  /** Sends messages to webhooks, for tests; over HTTP unless given. */
  webhookSender?: WebhookSender | undefined;
  /** Watches what the coordinator asks of its store, for tests. */
  watched?: ((store: JsonStore) => Store) | undefined;
}

/** The store of one folder and the coordinator over it. */
export interface Core {
  store: JsonStore;
  coordinator: Coordinator;
  /** Called with how long each commit took, ms. */
  onCommit: (tookMs: number) => void;
}

/** Make the store and the coordinator. Nothing is opened: `coordinator.start()` opens the store too. */
export function assembleCore({ watched = (store) => store, ...options }: CoreOptions): Core {
  const { config, clock } = options;
  // In force with the next start.
  const { priorities } = config().jobs;
  const store = createJsonStore({
    ...options,
    auditKeptMs: () => config().retention.auditDays * dayMs,
    headStart: (priority) => (priorities[priority] ?? 0) * 1000,
    onCommit: (tookMs) => core.onCommit(tookMs),
  });
  const { files = nodeFiles, path, logger } = options;
  const coordinator = new Coordinator({
    ...options,
    store: watched(store),
    blobs: new FolderBlobs({ files, folder: layoutOf(resolve(path)).files, logger }),
    pricing: createPricing(config, clock),
    webhookSender: options.webhookSender ?? new ThreadSender({ settings: () => config().webhooks }),
    checks: new SchemaChecks(),
  });
  const core: Core = { store, coordinator, onCommit: () => {} };
  return core;
}

export interface FrontOptions extends Surroundings {
  core: Core;
  live: LiveConfig;
  /** Its connections are counted and its upgrades served; its requests are for `Front.answer`. */
  server: Server;
  /** An admin key that is always valid; null without one. */
  environmentKey: string | null;
  dashboard: DashboardFiles | null;
  /** The most that the heap of this process can hold. */
  heapBytes: number;
  /** Adds the figures of this process to the metrics; once a process. */
  hasProcessMetrics: boolean;
}

/** What serves a coordinator to the world. */
export interface Front {
  keys: KeyRing;
  events: Live;
  parts: HttpParts;
  /** Serves requests, each in its turn. */
  answer: RequestListener;
  close(): void;
}

/** Make the keys, the API, the live events and the sockets of a coordinator that has started. */
export async function assembleFront(options: FrontOptions): Promise<Front> {
  const { core, live, server, config, clock, random, logger } = options;
  const { store, coordinator } = core;
  const keys = new KeyRing({
    clock,
    random,
    environmentKey: options.environmentKey,
    keys: await store.keys(),
    storage: keyStorage(store, coordinator.audit),
  });
  const metrics = new Metrics({ coordinator, config, process: options.hasProcessMetrics });
  core.onCommit = (tookMs) => metrics.committed(tookMs);
  const bounded = createBounded(options, metrics.bounds);
  const { connections, answers, uploads } = bounded;
  const tickets = new Tickets({ clock, random });
  const events = new Live({ coordinator, config, answers, clock, random, logger, figures: metrics.bounds });
  const streams = new EventStreams({ live: events, coordinator, keys, clock });
  const { dashboard } = options;
  const own = { coordinator, keys, tickets, streams, config, live, metrics, dashboard, clock, logger };
  const parts: HttpParts = { ...own, ...bounded };
  openBatches({ coordinator, config, clock });
  connections.watch(server);
  const closeSockets = serveSockets(server, parts, events);
  metrics.bounds.watch({
    connections: () => connections.count,
    subscribers: () => events.subscriberCount,
    bodyBytes: () => uploads.held,
    answerBytes: () => answers.held,
    unsentBytes: () => events.unsentBytes,
    outputSize: () => events.outputSize,
    keptBytes: () => events.keptBytes,
    tickets: () => tickets.count,
    files: () => coordinator.files.count,
    fileBytes: () => coordinator.files.bytes,
  });
  return {
    keys,
    events,
    parts,
    answer: connections.inTurn(createApp(parts, [openAiDoor(), mcpDoor(parts)]).callback()),
    close: () => {
      events.close();
      closeSockets();
      for (const part of [uploads, connections, answers, metrics, keys]) part.close();
    },
  };
}

/** What is held for clients, each within its bound. */
function createBounded({ config, clock, heapBytes, logger }: FrontOptions, figures: BoundFigures) {
  const http = () => config().http;
  // In force with the next start.
  const { maxConnections } = http();
  return {
    connections: new Connections({
      clock,
      max: () => maxConnections,
      share: () => http().shares.connections,
      unreadMs: () => http().unreadTimeoutSeconds * 1000,
      figures,
    }),
    answers: new AnswerMemory({
      clock,
      bytes: () => http().answerMemoryBytes,
      share: () => http().shares.bytesOut,
      figures,
    }),
    rates: new RateLimiter(),
    uploads: new Uploads({ http, clock, figures, heapBytes }),
    failedLogins: new FailedLogins({
      perMinute: () => http().failedLoginsPerMinute,
      // One line in the log for each address, when it begins to be refused for the number of its refused keys.
      onRefused: ({ source, isLimited, isFirst }) => {
        figures.keyRefused(isLimited);
        if (isFirst) logger.warn({ source }, 'too many refused keys from one address');
      },
    }),
  };
}

/** Serve the sockets of workers and dashboards. @returns closes them. */
function serveSockets(server: Server, parts: HttpParts, live: Live): () => void {
  const { coordinator, keys, tickets, connections, config, clock, logger, failedLogins, metrics } = parts;
  const trustedProxies = () => config().http.trustedProxies;
  const roleRefused = auditRoleRefusals(coordinator.audit, trustedProxies);
  const gateway = new WorkerGateway({
    coordinator,
    keys,
    connections,
    clock,
    logger,
    figures: metrics.bounds,
    roleRefused,
    addressOf: (request) => clientAddress(request, trustedProxies()),
  });
  const dashboards = new LiveSocket({ live, keys, tickets, config, connections, clock, roleRefused });
  const handlers = new Map<string, UpgradeHandler>([
    ['/ws', (request, socket, head) => dashboards.upgrade(request, socket, head)],
    ['/ws/worker', (request, socket, head) => gateway.upgrade(request, socket, head)],
  ]);
  routeUpgrades(server, {
    handlers,
    own: config,
    failedLogin: (request) => failedLogins.count(clientAddress(request, trustedProxies())),
    present: upgradeRefusal,
    logger,
  });
  return () => {
    gateway.close();
    dashboards.close();
  };
}
