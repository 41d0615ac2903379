/** A problem in the configuration, with its position. */
export interface Problem {
  /** The path of the file as given, the name of an environment variable, or a flag. */
  source: string;
  /** Line in the file, from 1; null when there is none. */
  line: number | null;
  /** Key path, `jobs.timeout_seconds`; empty for the source as a whole. */
  path: string;
  message: string;
}

/** One problem as one line: `svc.config.yaml:12: jobs.timeout_secnds: unknown key, did you mean timeout_seconds?` */
export function problemLine({ source, line, path, message }: Problem): string {
  const place = line === null ? source : `${source}:${line}`;
  return path === '' ? `${place}: ${message}` : `${place}: ${path}: ${message}`;
}

/** The configuration is invalid. `problems` holds every problem, the message one line for each. */
export class ConfigError extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(problemLine).join('\n'));
    this.name = 'ConfigError';
    this.problems = problems;
  }
}
