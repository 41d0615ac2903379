import { Command, Option } from 'commander';

export interface CoordinatorFlags {
  config?: string;
  host?: string;
  port?: string;
  dataDir?: string;
  logLevel?: string;
  withEchoWorker?: true;
  inspect?: 'page' | 'stately';
}

const examples = `
Examples:
  svc coordinator                                   on 127.0.0.1:7420, data in ./data
  svc coordinator --config /etc/svc.config.yaml
  SVC_API_KEY=$(openssl rand -hex 24) svc coordinator --host 0.0.0.0
  svc coordinator --with-echo-worker                also runs an echo worker, to try things out

Environment:
  SVC_HOST, SVC_PORT   used if --host and --port are not given
  SVC_DATA_DIR         used if --data-dir is not given
  SVC_LOG_LEVEL        used if --log-level is not given
  SVC_CONFIG           used if --config is not given
  SVC_API_KEY          an admin key that is always valid, 16 characters or more; without it the first start creates one

Signals: SIGTERM and SIGINT stop it gracefully (exit 0); a second one stops it at once.
SIGHUP reloads the configuration; a bad one changes nothing.
Exit codes: 0 stopped gracefully; 1 it could not start, or its disk failed; 2 wrong usage or configuration;
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
        'for maintainers: show what every actor does on the Machines page; =stately also shows it in the Stately inspector',
      )
        .choices(['page', 'stately'])
        .preset('page'),
    )
    .addHelpText('after', examples)
    .action(async (flags: CoordinatorFlags) => {
      const { runCoordinator } = await import('./runCoordinator.ts');
      await runCoordinator(flags);
    });
}
