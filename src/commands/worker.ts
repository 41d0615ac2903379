import { Command, InvalidArgumentError, Option } from 'commander';
import { providerNames } from '../worker/providers/names.ts';
import { collect } from './command.ts';

export interface WorkerFlags {
  provider?: string[];
  concurrency?: number;
  name?: string;
  tag?: string[];
  coordinator?: string;
  config?: string;
  allowEnv?: string[];
  grace: number;
  supervised?: true;
}

const examples = `
Examples:
  SVC_API_KEY=… svc worker --provider echo
  SVC_API_KEY=… svc worker --provider echo --concurrency 8 --name lab-1 --tag eu --coordinator https://svc.example

Environment:
  SVC_API_KEY          the worker's key at the coordinator (role worker)
  SVC_COORDINATOR_URL  used if --coordinator is not given
  SVC_CONFIG           used if --config is not given (else svc.config.yaml, .yml or .json here, if there is one)
  SVC_CONFIG_URL       remote configuration, JSON or YAML with the keys of the file; reread while the worker runs,
                       so that a rotated key (worker.api_key) needs no restart
  SVC_LOCAL_MODEL_HOST scheme, host and port of the local-model server, such as http://10.0.0.5:11434
  SVC_WORKER_ALLOWED_ENV
                       comma-separated variables that it may also name as api_key_env; by default it may name
                       those of the worker's providers that end in _API_KEY
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY
                       proxies for requests to providers and coordinator; never for this machine itself
  SVC_LOG_LEVEL        trace, debug, info, warn, error or silent; default info

The first of these that sets a value wins: flag, environment, configuration file, remote configuration, default.
SIGTERM, SIGINT and SIGHUP: accept no more work, finish within the grace period, give the rest back.
A second SIGTERM or SIGINT: exit at once.

Exit codes:
  0  stopped as requested; the coordinator has every outcome
  1  a local-model server does not answer, or outcomes could not be delivered
  2  wrong or missing settings
`;

/** For the companion, over the channel that Node opens for a child process. */
const supervised = new Option('--supervised', 'take orders from the program that started it').hideHelp();

/** `svc worker`: run jobs of a coordinator with the providers of this machine. */
export function workerCommand(): Command {
  return new Command('worker')
    .description('Run jobs of a coordinator with the providers of this machine')
    .option('--provider <name>', `a provider to serve (${providerNames().join(', ')}); repeatable`, collect)
    .option('--concurrency <n>', 'jobs at once; 0 accepts none (default: 1; for echo alone 4)', wholeNumber)
    .option('--name <name>', 'unique among workers (default: the host name)')
    .option('--tag <tag>', 'a label that routing rules can ask for; repeatable', collect)
    .option('--coordinator <url>', 'address of the coordinator (default: http://127.0.0.1:7420)')
    .option('--config <file>', 'configuration file with a worker block')
    .option(
      '--allow-env <name>',
      'a variable that the remote configuration may name as api_key_env; repeatable',
      collect,
    )
    .option('--grace <seconds>', 'time to finish running jobs when it is stopped', seconds, 30)
    .addOption(supervised)
    .addHelpText('after', examples)
    .action(async (flags: WorkerFlags) => {
      const { runWorker } = await import('./runWorker.ts');
      await runWorker(flags);
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
