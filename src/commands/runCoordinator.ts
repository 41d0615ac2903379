import { adminKeyPath } from '../config/adminKey.ts';
import type { Config } from '../config/config.ts';
import { LiveConfig } from '../config/liveConfig.ts';
import { loadConfig } from '../config/load.ts';
import { messageOf } from '../domain/errors.ts';
import { createLogger } from '../lib/log.ts';
import { onReloadSignal } from '../lib/reloadSignal.ts';
import { onStopSignal } from '../lib/stopSignal.ts';
import { type Service, startService } from '../service.ts';
import type { CoordinatorFlags } from './coordinator.ts';
import { exitCodeOf, explain } from './exit.ts';
import { greetingLines } from './greeting.ts';

/** Slots of the embedded echo worker. */
const echoConcurrency = 4;

/** Run the coordinator until a signal or a failing store ends the process. Loads the whole service. */
export async function runCoordinator(options: CoordinatorFlags): Promise<void> {
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
    // The log says what is wrong with the new one.
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
    process.stderr.write(`The store has failed, no more changes are acknowledged: ${error.message}\n`);
    process.exit(exitCodeOf(error));
  } catch (error) {
    process.stderr.write(`error: ${explain(error)}\n`);
    process.exit(exitCodeOf(error));
  }
}

/** For people; on standard error, because standard output is for the log. */
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

/** The text after Ctrl-C while jobs run. */
function waitingFor(jobs: number, graceSeconds: number): string {
  const what = jobs === 1 ? '1 running job' : `${jobs} running jobs`;
  return `Stopping: waiting up to ${graceSeconds} s for ${what}. Ctrl-C again stops at once; jobs that are still running then continue after the next start.`;
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
