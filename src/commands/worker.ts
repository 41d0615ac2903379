import http from 'node:http';
import { hostname } from 'node:os';
import { Command, InvalidArgumentError } from 'commander';
import type { WorkerSettings } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { readWorkerEnvironment } from '../config/workerEnvironment.ts';
import { createLogger, silent } from '../lib/log.ts';
import { onStopSignal } from '../lib/stopSignal.ts';
import { systemClock, systemRandom } from '../lib/systemClock.ts';
import { ConfiguredWorker } from '../worker/configured.ts';
import { LiveView } from '../worker/liveView.ts';
import { ProviderUnreachable } from '../worker/provider.ts';
import { providerNames } from '../worker/providers/index.ts';
import { SettingsError } from '../worker/settings.ts';
import type { Worker } from '../worker/worker.ts';
import { collect } from './command.ts';
import { CommandFailure, exitCodes } from './exit.ts';

interface Flags {
  provider?: string[];
  concurrency?: number;
  name?: string;
  tag?: string[];
  coordinator?: string;
  config?: string;
  allowEnv?: string[];
  grace: number;
}

const examples = `
Examples:
  SVC_API_KEY=… svc worker --provider echo
  SVC_API_KEY=… svc worker --provider echo --concurrency 8 --name lab-1 --tag eu --coordinator https://svc.example

Environment:
  SVC_API_KEY          the worker's key at the coordinator (role worker)
  SVC_COORDINATOR_URL  used when --coordinator is not given
  SVC_CONFIG           used when --config is not given (else svc.config.yaml, .yml or .json here, if there is one)
  SVC_CONFIG_URL       remote configuration, JSON or YAML with the keys of the file; followed while the worker runs,
                       so that a rotated key (worker.api_key) needs no restart
  SVC_LOCAL_MODEL_HOST scheme, host and port of the local-model server, such as http://10.0.0.5:11434
  SVC_WORKER_ALLOWED_ENV
                       more variables that it may name as api_key_env, with commas between; by itself those of the
                       worker's providers that end in _API_KEY
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY
                       proxies for requests to providers and coordinator; never for this machine itself
  SVC_LOG_LEVEL        trace, debug, info, warn, error or silent; default info

A value is taken from the flag, else the environment, the configuration file, the remote configuration, the default.
SIGTERM, SIGINT and SIGHUP: take no more work, finish within the grace, give the rest back. A second SIGTERM or SIGINT:
exit at once.

Exit codes:
  0  stopped as asked, every outcome is with the coordinator
  1  a local-model server does not answer, or outcomes could not be delivered
  2  wrong or missing settings
`;

/** `svc worker`: run jobs of a coordinator with the providers that this machine has. */
export function workerCommand(): Command {
  return new Command('worker')
    .description('Run jobs of a coordinator with the providers of this machine')
    .option('--provider <name>', `a provider to serve (${providerNames().join(', ')}); repeatable`, collect)
    .option('--concurrency <n>', 'jobs at once; 0 takes none (default: 1; for echo alone 4)', wholeNumber)
    .option('--name <name>', 'unique among workers (default: the host name)')
    .option('--tag <tag>', 'a label that routing rules can ask for; repeatable', collect)
    .option('--coordinator <url>', 'address of the coordinator (default: http://127.0.0.1:7420)')
    .option('--config <file>', 'configuration file with a worker block')
    .option(
      '--allow-env <name>',
      'a variable that the remote configuration may name as api_key_env; repeatable',
      collect,
    )
    .option('--grace <seconds>', 'time to finish what runs when it is stopped', seconds, 30)
    .addHelpText('after', examples)
    .action(run);
}

async function run(flags: Flags): Promise<void> {
  const isTerminal = process.stdout.isTTY === true;
  // A terminal that is closed takes no more output; the drain that its SIGHUP begins must outlive that.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  let configured: ConfiguredWorker;
  useProxies(process.env);
  try {
    const { env } = process;
    const environment = readWorkerEnvironment(env, flags.allowEnv);
    const local = await loadConfig({ file: flags.config, env, cwd: process.cwd() });
    // On a terminal the view shows what matters; a JSON line in the middle would tear it.
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

/**
 * The proxies of the environment for the remote configuration, which `fetch` reads, as for everything else; never for
 * this machine itself. Older versions of Node cannot.
 */
function useProxies(env: NodeJS.ProcessEnv): void {
  const exempt = [env.no_proxy ?? env.NO_PROXY, 'localhost', '127.0.0.1', '::1'];
  const NO_PROXY = exempt.filter(Boolean).join(',');
  http.setGlobalProxyFromEnv?.({ ...env, NO_PROXY, no_proxy: NO_PROXY });
}

function settingsOfFlags(flags: Flags): Partial<WorkerSettings> {
  return {
    providers: flags.provider ?? [],
    concurrency: flags.concurrency ?? null,
    name: flags.name ?? null,
    tags: flags.tag ?? [],
    coordinator: flags.coordinator ?? null,
  };
}

/** @returns what the drain left behind, once a signal has come and the drain is done. */
function drainOnSignal(worker: Worker, graceMs: number): Promise<{ undelivered: number }> {
  return new Promise((resolve, reject) => {
    onStopSignal(() => worker.drain(graceMs).then(resolve, reject), { hangup: true });
  });
}

function wholeNumber(value: string): number {
  if (/^\d{1,6}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('It must be a whole number of at least 0.');
}

function seconds(value: string): number {
  const number = Number(value);
  if (value.trim() !== '' && number >= 0 && number <= 86_400) return number;
  throw new InvalidArgumentError('It must be a number of seconds from 0 to 86400.');
}
