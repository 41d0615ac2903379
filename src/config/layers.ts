import { variable } from './environment.ts';
import { type ConfigFile, type LogLevel, logLevels } from './file.ts';
import type { Problem } from './problem.ts';

/** Values of flags, as typed. */
export interface Overrides {
  host?: string | undefined;
  port?: string | number | undefined;
  dataDir?: string | undefined;
  logLevel?: string | undefined;
}

/** The key paths set by a flag or the environment. */
export type Given = Record<string, 'flag' | 'environment'>;

interface Setting<T> {
  value: T;
  from: 'flag' | 'environment';
}

/** Apply flags over the environment over the file. */
export function layerOver(
  file: ConfigFile,
  env: NodeJS.ProcessEnv,
  flags: Overrides,
): { file: ConfigFile; given: Given; problems: Problem[] } {
  const problems: Problem[] = [];
  const read = <T>(
    flag: [string, string | number | undefined],
    name: string,
    parse: (text: string) => T | Rejected,
  ): Setting<T> | null => {
    const fromEnvironment = variable(env, name);
    const given = flag[1] === undefined ? fromEnvironment : String(flag[1]);
    if (given === null) return null;
    const source = flag[1] === undefined ? name : flag[0];
    const value = parse(given);
    if (value instanceof Rejected) {
      problems.push({
        source,
        line: null,
        path: '',
        message: `must be ${value.rule}, not ${JSON.stringify(given)}`,
      });
      return null;
    }
    return { value, from: flag[1] === undefined ? 'environment' : 'flag' };
  };

  const host = read(['--host', flags.host], 'SVC_HOST', parseText);
  const port = read(['--port', flags.port], 'SVC_PORT', parsePort);
  const path = read(['--data-dir', flags.dataDir], 'SVC_DATA_DIR', parseText);
  const level = read(['--log-level', flags.logLevel], 'SVC_LOG_LEVEL', parseLevel);
  const given = { host, port, 'store.path': path, 'log.level': level };
  return {
    file: {
      ...file,
      host: host?.value ?? file.host ?? null,
      port: port?.value ?? file.port ?? null,
      store: { ...file.store, path: path?.value ?? file.store?.path ?? null },
      log: { level: level?.value ?? file.log?.level ?? null },
    },
    given: Object.fromEntries(
      Object.entries(given).flatMap(([key, set]) => (set === null ? [] : [[key, set.from]])),
    ),
    problems,
  };
}

class Rejected {
  readonly rule: string;

  constructor(rule: string) {
    this.rule = rule;
  }
}

function parseText(text: string): string | Rejected {
  return text.trim() === '' ? new Rejected('a text that is not empty') : text;
}

function parsePort(text: string): number | Rejected {
  const isPort = /^\d{1,5}$/.test(text) && Number(text) <= 65_535;
  return isPort ? Number(text) : new Rejected('a whole number from 0 to 65535');
}

function parseLevel(text: string): LogLevel | Rejected {
  return logLevels.find((level) => level === text) ?? new Rejected(`one of ${logLevels.join(', ')}`);
}
