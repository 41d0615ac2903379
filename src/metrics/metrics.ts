import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { Config } from '../config/config.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { BoundMetrics } from './bounds.ts';
import { JobMetrics } from './jobMetrics.ts';
import { KnownNames } from './knownNames.ts';
import { Children, other } from './labels.ts';
import { createStateGauges } from './stateGauges.ts';

const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS'];
const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 300];
const commitSeconds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5];

/**
 * The metrics of GET /metrics. Events are counted as they happen; levels are read from the coordinator at a scrape. No
 * label is unbounded, and none contains content.
 */
export class Metrics {
  /** Bounded resources, and what was refused there. */
  readonly bounds: BoundMetrics;
  readonly #registry = new Registry();
  readonly #requests;
  readonly #commits;
  readonly #frontDispatches;
  readonly #frontConnections;
  readonly #render: () => Promise<string>;
  readonly #unobserve: () => void;

  /** @param options.process adds the figures of Node: memory, processor time, garbage collection; once a process. */
  constructor(options: { coordinator: Coordinator; config: () => Config; process?: boolean }) {
    const { coordinator, config } = options;
    const registers = [this.#registry];
    this.bounds = new BoundMetrics(this.#registry);
    const names = new KnownNames(config, () => coordinator.providers());
    const jobs = new JobMetrics(this.#registry, names);
    const setState = createStateGauges(this.#registry, names);
    const requests = new Histogram({
      name: 'http_server_request_duration_seconds',
      help: 'Requests by route; those that wait for a job include the wait.',
      labelNames: ['http_request_method', 'http_route', 'http_response_status_class'],
      buckets: requestSeconds,
      registers,
    });
    this.#requests = new Children((...labels) => requests.labels(...labels));
    this.#commits = new Histogram({
      name: 'svc_commit_seconds',
      help: 'Until a change is durable: waiting for the group, writing, syncing.',
      buckets: commitSeconds,
      registers,
    });
    this.#frontDispatches = new Counter({
      name: 'svc_front_dispatches_total',
      help: 'Dispatches that fronts have read: made, returned for the core to answer, or cut.',
      labelNames: ['outcome'],
      registers,
    });
    this.#frontConnections = new Counter({
      name: 'svc_front_connections_total',
      help: 'Connections that fronts have handed over to the core.',
      registers,
    });
    if (options.process === true) collectDefaultMetrics({ register: this.#registry });
    const unwatch = coordinator.bus.subscribe(({ type }) => {
      if (type.startsWith('worker.')) names.forget();
    });
    const unobserve = coordinator.observe((committed) => jobs.follow(committed));
    this.#unobserve = () => {
      unwatch();
      unobserve();
    };
    this.#render = async () => {
      names.forget();
      setState(await coordinator.stats(), coordinator.providers(), coordinator.webhooks.figures);
      return this.#registry.metrics();
    };
  }

  /** Type of what `render` gives. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The exposition format of Prometheus. */
  render(): Promise<string> {
    return this.#render();
  }

  /** A request was answered. @param route as declared, with `:id` for an id. */
  requested(method: string, route: string, status: number, tookMs: number): void {
    const known = methods.includes(method) ? method : other;
    this.#requests.of(known, route, `${Math.floor(status / 100)}xx`).observe(tookMs / 1000);
  }

  /** A commit has succeeded. */
  committed(tookMs: number): void {
    this.#commits.observe(tookMs / 1000);
  }

  /** The core has decided about a dispatch that a front has read. */
  frontDispatched(outcome: 'made' | 'returned' | 'cut'): void {
    this.#frontDispatches.labels(outcome).inc();
  }

  /** A front has handed a connection over. */
  frontHandedOver(): void {
    this.#frontConnections.inc();
  }

  close(): void {
    this.#unobserve();
    this.#registry.clear();
  }
}
