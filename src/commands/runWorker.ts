import { hostname } from 'node:os';
import type { WorkerSettings } from '../config/config.ts';
import { type LoadedConfig, loadConfig } from '../config/load.ts';
import { readWorkerEnvironment } from '../config/workerEnvironment.ts';
import { createLogger, silent } from '../lib/log.ts';
import { useProxies } from '../lib/proxies.ts';
import { onStopSignal } from '../lib/stopSignal.ts';
import { systemClock, systemRandom } from '../lib/systemClock.ts';
import { ConfiguredWorker } from '../worker/configured.ts';
import { LiveView } from '../worker/liveView.ts';
import { ProviderUnreachable } from '../worker/provider.ts';
import { SettingsError } from '../worker/settings.ts';
import { obeyParent } from '../worker/supervised.ts';
import type { Worker } from '../worker/worker.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import type { WorkerFlags } from './worker.ts';

/**
 * Run a worker until a signal. Loads every adapter with its SDK.
 * @throws CommandFailure for invalid settings, and for a model server that does not answer.
 */
export async function runWorker(flags: WorkerFlags): Promise<void> {
  const isTerminal = process.stdout.isTTY === true;
  // A closed terminal accepts no more output; the drain that its SIGHUP starts must continue.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  let configured: ConfiguredWorker;
  useProxies(process.env);
  try {
    const { env } = process;
    const environment = readWorkerEnvironment(env, flags.allowEnv);
    const local = await loadLocal(flags);
    // On a terminal the view shows what matters; a JSON line would break it.
    const logger = isTerminal ? silent : createLogger(local.config.log.level);
    const warn = (message: string): void => {
      if (isTerminal) process.stderr.write(`warning: ${message}\n`);
      else logger.warn(message);
    };
    for (const warning of local.warnings) warn(warning);
    const sources = { flags: settingsOfFlags(flags), environment, local, env, host: hostname() };
    const machine = { clock: systemClock, random: systemRandom(), logger, warn };
    configured = await ConfiguredWorker.create({ ...sources, ...machine });
  } catch (error) {
    if (!(error instanceof SettingsError || error instanceof TypeError)) throw error;
    throw new CommandFailure(exitCodes.usage, error.message);
  }
  const { worker, concurrency } = configured;
  const view = isTerminal ? new LiveView(worker, concurrency, process.stdout, systemClock) : null;
  const drained = drainOnSignal(worker, flags.grace * 1000);
  if (flags.supervised === true) obeyParent(configured, () => loadLocal(flags), flags.grace);
  try {
    await configured.start();
  } catch (error) {
    if (!(error instanceof ProviderUnreachable)) throw error;
    throw new CommandFailure(exitCodes.failed, error.message);
  }
  const { undelivered } = await drained;
  view?.close();
  process.exit(undelivered > 0 ? 1 : 0);
}

function loadLocal({ config: file }: WorkerFlags): Promise<LoadedConfig> {
  return loadConfig({ file, env: process.env, cwd: process.cwd() });
}

function settingsOfFlags(flags: WorkerFlags): Partial<WorkerSettings> {
  return {
    providers: flags.provider ?? [],
    concurrency: flags.concurrency ?? null,
    name: flags.name ?? null,
    tags: flags.tag ?? [],
    coordinator: flags.coordinator ?? null,
  };
}

/** @returns the result of the drain that a signal, or the program above it, starts. */
function drainOnSignal(worker: Worker, graceMs: number): Promise<{ undelivered: number }> {
  return new Promise((resolve, reject) => {
    onStopSignal(() => worker.drain(graceMs).then(resolve, reject), { hangup: true });
    // The same drain: its promise settles after this event.
    worker.once('stopped', () => worker.drain(0).then(resolve, reject));
  });
}
