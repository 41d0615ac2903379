import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Client, createClient } from '../client/client.ts';
import { adminKeyPath, readAdminKey } from '../config/adminKey.ts';
import type { Config } from '../config/config.ts';
import { apiKeyProblem, readApiKey, variable } from '../config/environment.ts';
import { ConfigError } from '../config/problem.ts';
import { messageOf } from '../domain/errors.ts';
import { isLoopback, nearUrl } from '../lib/hosts.ts';
import { version } from '../lib/version.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import type { Io } from './io.ts';

/** The options of every command that talks to the coordinator. */
export interface ConnectionOptions {
  url?: string;
  keyFile?: string;
}

/** The address of the coordinator and the key to use. */
export interface Address {
  url: string;
  apiKey: string | null;
  /** Where the key came from: `--key-file`, `SVC_API_KEY`, or the path of the key file; null without one. */
  keyFrom: string | null;
}

/** A client for the coordinator named by the options, the environment and the configuration of this machine. */
export async function connect(options: ConnectionOptions, io: Io): Promise<Client> {
  const { url, apiKey } = await findCoordinator(options, io);
  return createClient({ baseUrl: url, apiKey, userAgent: `svc-cli/${version}` });
}

/**
 * Find address and key. Address: `--url`, SVC_COORDINATOR_URL, host and port of the local configuration. Key:
 * `--key-file`, SVC_API_KEY, the key file in the data folder. The configuration is only read when needed, so that a
 * broken file does not matter when both are given.
 * @throws CommandFailure (usage), ConfigError.
 */
export async function findCoordinator(options: ConnectionOptions, io: Io): Promise<Address> {
  const named = options.url ?? variable(io.env, 'SVC_COORDINATOR_URL');
  const namedBy = options.url === undefined ? 'SVC_COORDINATOR_URL' : '--url';
  if (named !== null && !isHttpUrl(named)) {
    throw new CommandFailure(
      exitCodes.usage,
      `${namedBy} must be an address such as http://127.0.0.1:7420, not ${named}`,
    );
  }
  const key = await namedKey(options, io);
  if (named !== null && key !== null) return { url: named, ...key };
  // Its parser and schema are half of what such a command loads.
  const { loadConfig } = await import('../config/load.ts');
  const { config } = await loadConfig({ env: io.env, cwd: io.cwd });
  const url = named ?? nearUrl(config.host, config.port);
  return { url, ...(key ?? (await localKey(url, config))) };
}

type Key = Omit<Address, 'url'>;

async function namedKey({ keyFile }: ConnectionOptions, { env, cwd }: Io): Promise<Key | null> {
  if (keyFile !== undefined) return { apiKey: await readKeyFile(keyFile, cwd), keyFrom: '--key-file' };
  const { apiKey, problems } = readApiKey(env);
  if (problems.length > 0) throw new ConfigError(problems);
  return apiKey === null ? null : { apiKey, keyFrom: 'SVC_API_KEY' };
}

/** The key in the file that `--key-file` names. @throws CommandFailure (usage). */
export async function readKeyFile(name: string, cwd: string): Promise<string> {
  const text = await readFile(resolve(cwd, name), 'utf8').catch((error: unknown) => {
    throw new CommandFailure(exitCodes.usage, `--key-file ${name} cannot be read: ${messageOf(error)}`);
  });
  const key = text.trim();
  const problem = apiKeyProblem(key);
  if (problem !== null)
    throw new CommandFailure(exitCodes.usage, `--key-file ${name}: the key in it ${problem}`);
  return key;
}

/** The admin key of this machine's own coordinator. It is never sent elsewhere. */
async function localKey(url: string, config: Config): Promise<Key> {
  const none: Key = { apiKey: null, keyFrom: null };
  const { hostname, origin } = new URL(url);
  const isOwn =
    isLoopback(hostname) ||
    hostname === new URL(nearUrl(config.host, config.port)).hostname ||
    origin === originOf(config.publicUrl);
  if (!isOwn) return none;
  const path = adminKeyPath(config.store.path);
  const apiKey = await readAdminKey(config.store.path).catch((error: unknown) => {
    throw new CommandFailure(
      exitCodes.denied,
      `${path} cannot be read: ${messageOf(error)}\nSet SVC_API_KEY, or run this as the user that runs the coordinator.`,
    );
  });
  return apiKey === null ? none : { apiKey, keyFrom: path };
}

function originOf(url: string | null): string | null {
  return url === null ? null : new URL(url).origin;
}

function isHttpUrl(url: string): boolean {
  return URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol);
}
