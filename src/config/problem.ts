/** Something wrong with the configuration, and where it stands. */
export interface Problem {
  /** The file as people know it, the name of an environment variable, or a flag. */
  source: string;
  /** Line in the file, from 1; null when there is none. */
  line: number | null;
  /** Key path, `jobs.timeout_seconds`; empty when the source as a whole is meant. */
  path: string;
  message: string;
}

/** One problem as one line: `svc.config.yaml:12: jobs.timeout_secnds: unknown key, did you mean timeout_seconds?` */
export function problemLine({ source, line, path, message }: Problem): string {
  const place = line === null ? source : `${source}:${line}`;
  return path === '' ? `${place}: ${message}` : `${place}: ${path}: ${message}`;
}

/** The configuration cannot be used. `problems` holds everything that is wrong, the message one line for each. */
export class ConfigError extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(problemLine).join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}
