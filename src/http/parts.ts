import type { ServerResponse } from 'node:http';
import type { FailedLogins } from '../auth/failedLogins.ts';
import type { KeyRing } from '../auth/keyRing.ts';
import type { Tickets } from '../auth/tickets.ts';
import type { Config } from '../config/config.ts';
import type { LiveConfig } from '../config/liveConfig.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { Clock } from '../domain/clock.ts';
import type { Principal } from '../domain/key.ts';
import type { JobOutput, Topic } from '../domain/liveProtocol.ts';
import type { AnswerMemory } from '../lib/answerMemory.ts';
import type { Connections } from '../lib/connections.ts';
import type { Logger } from '../lib/log.ts';
import type { RateLimiter } from '../lib/rateLimiter.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { DashboardFiles } from './dashboard.ts';
import type { Uploads } from './uploads.ts';

interface StreamRequest {
  principal: Principal;
  /** The last event that the client has; null for none. */
  since: number | null;
}

export type StartStream = (response: ServerResponse) => void;

/** Who makes event streams; the routes only read requests for it. */
export interface EventStreams {
  all(request: StreamRequest & { topics: readonly Topic[] }): Promise<StartStream>;
  /** @returns null when the client has the job's end already. */
  job(request: StreamRequest & { jobId: string }): Promise<StartStream | null>;
  /** The whole output of the running attempt so far; null when there is none, or when a part of it is no longer kept. */
  outputSoFar(jobId: string): Omit<JobOutput, 'truncated'> | null;
  /** Why a live connection would be refused now; null when there is room. */
  refusal(principal: Principal): string | null;
}

/** What the HTTP side works with. */
export interface HttpParts {
  coordinator: Coordinator;
  keys: KeyRing;
  tickets: Tickets;
  failedLogins: FailedLogins;
  connections: Connections;
  answers: AnswerMemory;
  streams: EventStreams;
  config: () => Config;
  /** The same, with where it came from and the way to read it again. */
  live: LiveConfig;
  metrics: Metrics;
  uploads: Uploads;
  /** Requests of each key. */
  rates: RateLimiter;
  clock: Clock;
  /** null: a plain page stands in its place. */
  dashboard: DashboardFiles | null;
  logger: Logger;
}
