import { Command, Option } from 'commander';
import { adminKeyPath } from '../config/adminKey.ts';
import type { Config } from '../config/config.ts';
import { LiveConfig } from '../config/liveConfig.ts';
import { loadConfig } from '../config/load.ts';
import { messageOf } from '../domain/errors.ts';
import { createLogger } from '../lib/log.ts';
import { onReloadSignal } from '../lib/reloadSignal.ts';
import { onStopSignal } from '../lib/stopSignal.ts';
import { type Service, startService } from '../service.ts';
import { exitCodeOf, explain } from './exit.ts';
import { greetingLines } from './greeting.ts';

interface Options {
  config?: string;
  host?: string;
  port?: string;
  dataDir?: string;
  logLevel?: string;
  withEchoWorker?: true;
  inspect?: 'page' | 'stately';
}

/** Slots of the embedded echo worker. */
const echoConcurrency = 4;

const examples = `
Examples:
  svc coordinator                                   on 127.0.0.1:7420, data in ./data
  svc coordinator --config /etc/svc.config.yaml
  SVC_API_KEY=$(openssl rand -hex 24) svc coordinator --host 0.0.0.0
  svc coordinator --with-echo-worker                also runs a worker that echoes, to try things out

Environment:
  SVC_HOST, SVC_PORT   used when --host and --port are not given
  SVC_DATA_DIR         used when --data-dir is not given
  SVC_LOG_LEVEL        used when --log-level is not given
  SVC_CONFIG           used when --config is not given
  SVC_API_KEY          an admin key that is always valid, 16 characters or more; without it the first start makes one

Signals: SIGTERM and SIGINT stop it in good order (exit 0); a second one stops it at once.
SIGHUP: read the configuration again; a bad one changes nothing.
Exit codes: 0 stopped in good order; 1 it could not start, or its disk failed; 2 wrong usage or configuration;
65 its data folder is damaged or was changed by somebody else: restore it before the next start.`;

/** `svc coordinator`: runs the coordinator until a signal. */
export function coordinatorCommand(): Command {
  return new Command('coordinator')
    .description('Run the coordinator: API, dashboard and worker sockets on one port')
    .option(
      '--config <file>',
      'configuration file (default: svc.config.yaml, .yml or .json here, if there is one)',
    )
    .option('--host <host>', 'address to listen on')
    .option('--port <port>', 'port to listen on')
    .option('--data-dir <folder>', 'folder of the store')
    .option('--log-level <level>', 'trace, debug, info, warn, error or silent')
    .option('--with-echo-worker', 'also run a worker with the echo provider in this process')
    .addOption(
      new Option(
        '--inspect [where]',
        'for maintainers: show what every actor does on the Machines page, or with =stately in the Stately inspector too',
      )
        .choices(['page', 'stately'])
        .preset('page'),
    )
    .addHelpText('after', examples)
    .action(run);
}

async function run(options: Options): Promise<void> {
  const { config: file, host, port, dataDir, logLevel } = options;
  const overrides = {
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(logLevel === undefined ? {} : { logLevel }),
  };
  try {
    const from = {
      ...(file === undefined ? {} : { file }),
      env: process.env,
      cwd: process.cwd(),
      overrides,
    };
    const loaded = await loadConfig(from);
    const logger = createLogger(loaded.config.log.level);
    for (const warning of loaded.warnings) logger.warn(warning);
    const config = LiveConfig.ofFile(loaded, from, logger);
    // What is wrong with the new one is in the log.
    onReloadSignal(() => void config.reload().catch(() => {}));
    const service = await startService({
      config,
      apiKey: loaded.apiKey,
      logger,
      inspect: options.inspect,
      echoWorker: options.withEchoWorker === true ? { concurrency: echoConcurrency } : undefined,
    });
    stopOnSignals(service);
    greet(service, loaded.config, loaded.apiKey !== null);
    const error = await service.failed;
    process.stderr.write(`The store has failed and nothing more is acknowledged: ${error.message}\n`);
    process.exit(exitCodeOf(error));
  } catch (error) {
    process.stderr.write(`error: ${explain(error)}\n`);
    process.exit(exitCodeOf(error));
  }
}

/** For people; on standard error, since standard output is the log's. */
function greet({ url, adminKey, isNewKey, statelyUrl }: Service, config: Config, isOwnKey: boolean): void {
  const lines = greetingLines({
    url,
    adminKey,
    isNewKey,
    isOwnKey,
    keyFile: adminKeyPath(config.store.path),
    host: config.publicUrl === null ? config.host : null,
    statelyUrl,
    isTerminal: process.stderr.isTTY === true,
  });
  process.stderr.write(`${lines.join('\n')}\n`);
}

/** What somebody who pressed Ctrl-C reads while jobs run. */
function waitingFor(jobs: number, graceSeconds: number): string {
  const what = jobs === 1 ? '1 running job' : `${jobs} running jobs`;
  return `Stopping: waiting up to ${graceSeconds} s for ${what}. Ctrl-C again stops at once; what still runs then continues after the next start.`;
}

function stopOnSignals(service: Service): void {
  onStopSignal(() => {
    const { jobs, graceSeconds } = service.awaited();
    if (jobs > 0) process.stderr.write(`${waitingFor(jobs, graceSeconds)}\n`);
    service.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`${messageOf(error)}\n`);
        process.exit(1);
      },
    );
  });
}
