import { readFile } from 'node:fs/promises';
import { basename, isAbsolute, relative, resolve } from 'node:path';
import { messageOf } from '../domain/errors.ts';
import { findContradictions, findOddities } from './checks.ts';
import type { Config } from './config.ts';
import { withDefaults } from './defaults.ts';
import { type ConfigDocument, parseConfigText } from './document.ts';
import { misspeltVariables, readApiKey, variable } from './environment.ts';
import { pathSteps } from './fields.ts';
import type { ConfigFile } from './file.ts';
import { layerOver, type Overrides } from './layers.ts';
import { ConfigError, type Problem, problemLine } from './problem.ts';
import { checkShape, type Fault } from './schema.ts';
import { type Source, sourcesOf } from './sources.ts';

export type { Overrides } from './layers.ts';
export { ConfigError } from './problem.ts';
export type { Source } from './sources.ts';

export interface LoadOptions {
  /** `--config`. */
  file?: string | undefined;
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Values of flags, as typed. */
  overrides?: Overrides | undefined;
  /** The file of the last load: it is read again and must still exist. null: there was none. */
  again?: string | null | undefined;
}

export interface LoadedConfig {
  config: Config;
  /** Its file, absolute; null when there is none. */
  file: string | null;
  /** What is valid but probably a mistake, one line each. */
  warnings: string[];
  /** By key path, as in the file: the source of the effective value. */
  sources: Record<string, Source>;
  /** SVC_API_KEY; null when it is not set. Not part of the configuration, so that it is never shown. */
  apiKey: string | null;
}

/** Searched in the working folder, in this order. */
const usualNames = ['svc.config.yaml', 'svc.config.yml', 'svc.config.json'];

/**
 * The configuration from flags, environment, file and defaults, in this order, validated as a whole.
 * @throws ConfigError with every problem at once.
 */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const { env, cwd, overrides = {} } = options;
  const found = await findFile(options);
  const parsed = found === null ? emptyFile : parseConfig(found.text, found.name);
  const layered = layerOver(parsed.file, env, overrides);
  const { apiKey, problems: keyProblems } = readApiKey(env);
  const problems = [...parsed.problems, ...layered.problems, ...keyProblems];
  if (problems.length > 0) throw new ConfigError(problems);

  const config = withDefaults(layered.file, cwd);
  return {
    config,
    file: found?.path ?? null,
    warnings: [...misspeltVariables(env), ...(found?.warnings ?? []), ...parsed.warnings],
    sources: sourcesOf(config, parsed.file, layered.given),
    apiKey,
  };
}

export interface ParsedConfig {
  /** Its contents; empty when there are problems. */
  file: ConfigFile;
  problems: Problem[];
  warnings: string[];
}

const emptyFile: ParsedConfig = { file: {}, problems: [], warnings: [] };

/**
 * Parse and check one configuration text, from a file or from an address.
 * @param name for problems; a name that ends with `.json` must be JSON.
 */
export function parseConfig(text: string, name: string): ParsedConfig {
  const document = parseConfigText(text, name);
  if (document.problems.length > 0) return { ...emptyFile, problems: document.problems };
  const { file, faults } = checkShape(document.data);
  const problems = place([...faults, ...findContradictions(file)], name, document);
  if (problems.length > 0) return { ...emptyFile, problems };
  return { file, problems, warnings: place(findOddities(file), name, document).map(problemLine) };
}

/** Faults with their lines, in the order of the file. */
function place(faults: readonly Fault[], source: string, document: ConfigDocument): Problem[] {
  return faults
    .map(({ path, message }) => ({ source, line: document.lineOf(pathSteps(path)), path, message }))
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

interface FoundFile {
  path: string;
  /** For people: relative to the working folder. */
  name: string;
  text: string;
  warnings: string[];
}

async function findFile({ file: flag, env, cwd, again = null }: LoadOptions): Promise<FoundFile | null> {
  const fromEnvironment = variable(env, 'SVC_CONFIG');
  const named = again ?? flag ?? fromEnvironment;
  if (named !== null) {
    const path = resolve(cwd, named);
    const text = await readIfThere(path, nameFor(path, cwd));
    const why = again !== null ? ' any more' : flag === undefined ? ' (named by SVC_CONFIG)' : '';
    if (text === null)
      throw new ConfigError([{ ...nowhere(nameFor(path, cwd)), message: `no such file${why}` }]);
    return { path, name: nameFor(path, cwd), text, warnings: [] };
  }
  const present: FoundFile[] = [];
  for (const name of usualNames) {
    const path = resolve(cwd, name);
    const text = await readIfThere(path, name);
    if (text !== null) present.push({ path, name, text, warnings: [] });
  }
  const [first, ...others] = present;
  if (first === undefined) return null;
  return {
    ...first,
    warnings: others.map(({ name }) => `${name}: not read, because ${first.name} is here too`),
  };
}

function nowhere(source: string): Omit<Problem, 'message'> {
  return { source, line: null, path: '' };
}

function nameFor(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short === '' ? basename(path) : short.startsWith('..') || isAbsolute(short) ? path : short;
}

async function readIfThere(path: string, name: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    const message = code === 'EISDIR' ? 'is a folder, not a file' : `cannot be read: ${messageOf(error)}`;
    throw new ConfigError([{ ...nowhere(name), message }]);
  }
}
