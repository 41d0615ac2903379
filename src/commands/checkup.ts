import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ApiError, type Client, createClient, Unreachable } from '../client/client.ts';
import { adminKeyPath } from '../config/adminKey.ts';
import { localProviders } from '../config/config.ts';
import { ConfigError, type LoadedConfig, loadConfig } from '../config/load.ts';
import { messageOf } from '../domain/errors.ts';
import { type Fault, faultText, lineOf } from '../domain/failure.ts';
import { type Role, roles } from '../domain/key.ts';
import { pausedQueueText } from '../domain/wire/queueText.ts';
import type { WireStats } from '../domain/wire/stats.ts';
import type { WireWorker } from '../domain/wire/worker.ts';
import { isNodeTooOld, nodeNeeded } from '../lib/nodeVersion.ts';
import { plainLine } from '../lib/plainText.ts';
import { shellWord } from '../lib/shellWord.ts';
import { version } from '../lib/version.ts';
import { type Address, type ConnectionOptions, findCoordinator } from './connection.ts';
import { type Finding, fault, ok, warning } from './finding.ts';
import type { Io } from './io.ts';
import { checkProviders } from './providerCheckup.ts';
import { checkSocket } from './socketCheck.ts';

export interface CheckupOptions extends ConnectionOptions {
  config?: string;
  /** Providers to check besides the configured ones. */
  provider?: string[];
}

/** Check everything between this command and a job's answer, in the order in which it has to work. */
export async function checkup(options: CheckupOptions, io: Io): Promise<Finding[]> {
  const { loaded, findings } = await checkConfig(options, io);
  const data = loaded === null ? [] : await checkDataFolder(loaded.config.store.path);
  // The address and the key must also come from the named file.
  const env = options.config === undefined ? io.env : { ...io.env, SVC_CONFIG: options.config };
  const [coordinator, providers] = await Promise.all([
    checkCoordinator(options, { ...io, env }),
    loaded === null ? [] : checkProviders(loaded, options.provider ?? [], env),
  ]);
  return [checkNode(), ...findings, ...data, ...coordinator, ...providers];
}

function checkNode(): Finding {
  if (!isNodeTooOld()) return ok('Node', process.version);
  return fault('Node', `${process.version} is older than ${nodeNeeded}`, 'npm install node');
}

async function checkConfig(
  { config: file }: CheckupOptions,
  { env, cwd }: Io,
): Promise<{ loaded: LoadedConfig | null; findings: Finding[] }> {
  const title = 'Configuration';
  try {
    const loaded = await loadConfig({ file, env, cwd });
    const findings = loaded.warnings.map((line) =>
      warning(title, line, 'docs/configuration.md explains every key'),
    );
    return { loaded, findings: [ok(title, loaded.file ?? 'no file, defaults'), ...findings] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return {
      loaded: null,
      findings: [fault(title, error.message, 'fix these; docs/configuration.md explains every key')],
    };
  }
}

async function checkDataFolder(path: string): Promise<Finding[]> {
  const title = 'Data folder';
  const isThere = await stat(path).then(
    (found) => found.isDirectory(),
    () => null,
  );
  if (isThere === false) return [fault(title, `${path} is not a folder`, `export SVC_DATA_DIR=<folder>`)];
  const problem = await access(
    isThere === null ? await nearestFolder(path) : path,
    constants.W_OK | constants.X_OK,
  ).then(() => null, messageOf);
  if (problem !== null) {
    return [
      fault(
        title,
        `${path} cannot be written: ${problem}`,
        `sudo chown -R "$USER" ${path}    (or export SVC_DATA_DIR=<folder>)`,
      ),
    ];
  }
  if (isThere === null) return [ok(title, `${path} will be created at the first start`)];
  return [ok(title, `${path} can be written`), ...(await checkKeyFile(path))];
}

async function nearestFolder(path: string): Promise<string> {
  const parent = dirname(path);
  const isThere = await stat(parent).then(
    () => true,
    () => false,
  );
  return isThere || parent === path ? parent : nearestFolder(parent);
}

async function checkKeyFile(dataDir: string): Promise<Finding[]> {
  const path = adminKeyPath(dataDir);
  const mode = await stat(path).then(
    (found) => found.mode,
    () => null,
  );
  if (mode === null || (mode & 0o077) === 0) return [];
  return [fault('Key file', `${path} can be read by other users`, `chmod 600 ${path}`)];
}

async function checkCoordinator(options: CheckupOptions, io: Io): Promise<Finding[]> {
  let address: Address;
  try {
    address = await findCoordinator(options, io);
  } catch (error) {
    // The configuration is already reported.
    if (error instanceof ConfigError) return [];
    return [fault('Address and key', messageOf(error), 'svc --help explains how to set address and key')];
  }
  const client = createClient({ baseUrl: address.url, apiKey: address.apiKey });
  const reached = await checkHealth(client);
  if (reached.some(({ level }) => level === 'fault')) return reached;
  const key = await checkKey(client, address);
  if (key.level === 'fault') return [...reached, key];
  return [...reached, key, await checkSocket(address), ...(await checkWorkers(client))];
}

async function checkHealth(client: Client): Promise<Finding[]> {
  const title = 'Coordinator';
  try {
    const health = await client.health();
    const detail = `${client.baseUrl}, version ${health.version}, ${health.status}`;
    const restart = 'stop it, install the new version, svc coordinator';
    const age =
      health.version === version
        ? []
        : [warning(title, `this is version ${version}, the coordinator is ${health.version}`, restart)];
    if (health.status === 'ok') return [ok(title, detail), ...age];
    const fix =
      health.status === 'draining'
        ? 'wait until it has stopped, then svc coordinator'
        : 'check its log; usually the disk is full: df -h';
    return [fault(title, `${detail} (store: ${health.store})`, fix), ...age];
  } catch (error) {
    if (error instanceof Unreachable)
      return [fault(title, error.message, 'svc coordinator    (or --url, SVC_COORDINATOR_URL)')];
    return [fault(title, messageOf(error), 'svc doctor --url http://<host>:<port>')];
  }
}

async function checkKey(client: Client, { apiKey, keyFrom }: Address): Promise<Finding> {
  const title = 'Key';
  const fix = 'export SVC_API_KEY=<key>    (or --key-file <file>)';
  if (apiKey === null)
    return fault(title, 'none found: no --key-file, no SVC_API_KEY, no admin.key here', fix);
  try {
    await client.jobs({ limit: 1 });
    const role = roleOf(apiKey);
    return ok(title, `accepted, from ${keyFrom}${role === null ? '' : `, role ${role}`}`);
  } catch (error) {
    const isWorkers = error instanceof ApiError && error.status === 403 && roleOf(apiKey) === 'worker';
    if (isWorkers)
      return fault(title, `the key from ${keyFrom} has the role worker, which may not read jobs`, fix);
    return fault(title, `from ${keyFrom}: ${messageOf(error)}`, fix);
  }
}

/** Keys created by the coordinator begin with their role. */
function roleOf(key: string): Role | null {
  return roles.find((role) => key.startsWith(`svc_${role}_`)) ?? null;
}

async function checkWorkers(client: Client): Promise<Finding[]> {
  const title = 'Workers';
  const start = 'SVC_API_KEY=<key> svc worker --provider echo';
  try {
    const { workers } = await client.workers();
    const connected = workers.filter((worker) => worker.connected);
    const stats = await client.stats();
    const [first] = connected;
    if (first === undefined)
      return [
        fault(title, 'none is connected: jobs wait until one connects', start),
        ...pausedQueue(stats),
        ...refusedWorkers(stats),
      ];
    const open = connected.filter(takesWork);
    const detail = `${connected.length} connected: ${connected.map(({ name }) => name).join(', ')}`;
    const fleet =
      open.length > 0
        ? ok(title, detail)
        : warning(title, `${detail}; none accepts work`, `svc workers resume ${pasted(first.name)}`);
    return [
      fleet,
      ...pausedQueue(stats),
      ...setAside(connected),
      ...refusedWorkers(stats),
      ...unservedJobs(stats, connected),
      ...(await checkLimits(client)),
    ];
  } catch (error) {
    return [fault(title, messageOf(error), start)];
  }
}

function pausedQueue({ queue }: Partial<WireStats>): Finding[] {
  // An older coordinator does not report it.
  if (queue?.paused !== true) return [];
  return [warning('Queue', plainLine(`${pausedQueueText(queue)}; jobs wait`), 'svc resume')];
}

/** Workers whose connections are refused. */
function refusedWorkers({ refused_workers: refused }: Partial<WireStats>): Finding[] {
  // An older coordinator does not report them.
  return (refused ?? []).map(({ name, address, why, since, tries }) => {
    const who = name ?? `a worker at ${address ?? 'an unknown address'}`;
    const text = `${who} is refused: ${why} (${tries} ${tries === 1 ? 'try' : 'tries'} since ${since})`;
    return fault('Workers', plainLine(text), 'give it a valid key: svc keys create --role worker');
  });
}

/** Workers that are set aside, with the reason. */
function setAside(connected: readonly WireWorker[]): Finding[] {
  return connected.flatMap(({ name, refusals }) =>
    refusals.map((refusal) =>
      warning(
        'Workers',
        plainLine(`${name} ${faultText(refusal)}: ${lineOf(refusal.error)}`),
        faultFixes[refusal.fault],
      ),
    ),
  );
}

const faultFixes: Record<Fault, string> = {
  unreachable: 'start its model server, or fix base_url; until then its jobs wait or go to other workers',
  loading: 'wait until the model is loaded',
  refused: 'give that worker a valid key and restart it',
  missing: 'load or pull the model there, or fix the name',
  failing: 'check the log of its model server',
};

/** A client may name any provider, also one that no worker serves: its jobs wait, and no list of providers shows it. */
function unservedJobs({ pending }: WireStats, connected: readonly WireWorker[]): Finding[] {
  const waiting = new Map<string, number>();
  for (const { provider, ready } of pending) {
    if (connected.some(({ providers }) => providers.includes(provider))) continue;
    waiting.set(provider, (waiting.get(provider) ?? 0) + ready);
  }
  return [...waiting].map(([provider, count]) => {
    const detail = `${count === 1 ? '1 waits' : `${count} wait`} for ${plainLine(provider)}, which no connected worker serves`;
    return warning('Jobs', detail, `svc worker --provider ${pasted(provider)}`);
  });
}

/** Cloud providers without rate-limit handling: their 429s fail jobs. Local servers send none. */
async function checkLimits(client: Client): Promise<Finding[]> {
  const { providers } = await client.providers();
  const unhandled = providers.filter(
    ({ name, workers, rate_limit: handling }) =>
      workers > 0 && handling === null && !localProviders.includes(name),
  );
  if (unhandled.length === 0) return [];
  const names = unhandled.map(({ name }) => plainLine(name)).join(', ');
  const fix =
    'add to svc.config.yaml: providers: { defaults: { rate_limit: { retry_after_seconds: 30, max_retries: 5 } } }';
  return [warning('Limits', `a 429 of ${names} fails its job`, fix)];
}

/** A name chosen by somebody else, in a command that people may paste into a shell. */
function pasted(name: string): string {
  return shellWord(plainLine(name));
}

function takesWork({ paused, status, concurrency }: WireWorker): boolean {
  return !paused && status === 'active' && concurrency > 0;
}
