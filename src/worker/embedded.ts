import { hostname } from 'node:os';
import type { Clock, Random } from '../domain/clock.ts';
import { messageOf } from '../domain/errors.ts';
import type { Logger } from '../lib/log.ts';
import { version } from '../lib/version.ts';
import { createEcho } from './providers/echo.ts';
import { Worker } from './worker.ts';

export interface EchoWorkerOptions {
  /** Address of the coordinator, http or https. */
  url: string;
  apiKey: string;
  concurrency: number;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export const echoWorkerName = 'echo';

/**
 * An echo worker inside the calling program, for a first try and for demonstrations. It is a worker like any other: it
 * dials the coordinator's socket, even in the same process.
 * @returns at once; `untilConnected` resolves at the welcome, `drain` or `stop` end it.
 */
export function startEchoWorker({ url, apiKey, ...options }: EchoWorkerOptions): Worker {
  const worker = new Worker({
    ...options,
    name: echoWorkerName,
    kind: 'local',
    coordinatorUrl: url,
    apiKey: () => apiKey,
    providers: [createEcho()],
    version,
    host: hostname(),
  });
  worker.start().catch((error: unknown) => {
    options.logger.error({ error: messageOf(error) }, 'the embedded echo worker could not be started');
  });
  return worker;
}
