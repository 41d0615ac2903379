/** What the page of the companion shows; it arrives whole with every change. */
export interface CompanionState {
  version: string;
  settings: ShownSettings;
  worker: ShownWorker;
  coordinator: ShownCoordinator;
  today: Today;
  /** Jobs that failed here, the latest first. */
  failures: JobFailure[];
  servers: FoundServer[];
  login: ShownLogin;
  log: ShownLine[];
}

export interface ShownSettings {
  /** The path of the file. */
  file: string;
  coordinator: string;
  /** The beginning of the key, which is no secret; null without a key. */
  key: string | null;
  name: string;
  concurrency: number;
  providers: readonly string[];
  /** What is wrong with the file; the last valid settings stay in use. */
  problem: string | null;
}

/** Whether a worker should run; `paused` keeps it connected and takes no more work. */
export const runModes = ['on', 'paused', 'off'] as const;
export type RunMode = (typeof runModes)[number];

/**
 * - `setup`    a key or a provider is missing.
 * - `off`      stopped as requested.
 * - `starting` the process runs, and is not connected yet.
 * - `working`  connected.
 * - `waiting`  it has ended by itself and is restarted at `retryAt`, or once the settings have changed.
 * - `ending`   the former worker of the same name has to end first.
 */
export type WorkerPhase = 'setup' | 'off' | 'starting' | 'working' | 'waiting' | 'ending';

export interface ShownWorker {
  mode: RunMode;
  phase: WorkerPhase;
  pid: number | null;
  /** By an operator of the coordinator. */
  isPausedThere: boolean;
  slots: number;
  running: number;
  jobs: { jobId: string; provider: string; model: string | null; startedAt: number }[];
  /** Jobs of workers with former settings, which finish them. */
  finishing: number;
  problem: Problem | null;
  /** Milliseconds since 1970. */
  retryAt: number | null;
}

/** Something that is wrong, for people. */
export interface Problem {
  message: string;
  /** null: the message says it all. */
  advice: string | null;
}

export interface ShownCoordinator {
  /** null: not asked yet. */
  isReachable: boolean | null;
  version: string | null;
  /** Dollars of this worker's jobs today; null when unknown or the key may not read it. */
  costUsd: number | null;
}

/** What this machine has done today, in its own time zone. */
export interface Today {
  /** 2026-11-23. */
  day: string;
  completed: number;
  failed: number;
  inputTokens: number;
  outputTokens: number;
}

export interface JobFailure {
  id: number;
  at: string;
  jobId: string;
  provider: string;
  model: string | null;
  errorClass: string;
  advice: string;
}

/** A model server on its usual port, or one that is configured. */
export interface FoundServer {
  name: string;
  isServed: boolean;
  /** null: it does not answer. */
  models: string[] | null;
}

export interface ShownLogin {
  /** null: this system has no start at login that is known here. */
  file: string | null;
  isInstalled: boolean;
}

export interface ShownLine {
  id: number;
  at: string;
  level: string;
  text: string;
}

/** The answer to a test of address and key. */
export interface ConnectionTest {
  isUsable: boolean;
  /** One sentence. */
  message: string;
  advice: string | null;
}
