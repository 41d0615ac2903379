/** Answer of GET /api/config. */
export interface WireConfig {
  /** With the keys of the file; secrets are masked. */
  config: Record<string, unknown>;
  /** By key path: flag, environment, file or default. */
  sources: Record<string, 'flag' | 'environment' | 'file' | 'default'>;
  /** Absolute; null when there is none. */
  file: string | null;
  /** Keys whose value in the file waits for a restart. */
  needs_restart: string[];
  warnings: string[];
}

/** Answer of POST /api/config/reload. */
export interface WireConfigReload {
  changed: { key: string; from: unknown; to: unknown }[];
  needs_restart: string[];
  warnings: string[];
}
