import type { LiveConfig, Reloaded } from '../../../config/liveConfig.ts';
import { presentConfig } from '../../../config/present.ts';
import { type ConfigError, problemLine } from '../../../config/problem.ts';
import type { FieldError } from '../../../domain/errors.ts';
import type { WireConfig, WireConfigReload } from '../../../domain/wire/config.ts';

/** The configuration in force, and where each value came from. */
export function presentCurrent({ current, sources, file, needsRestart, warnings }: LiveConfig): WireConfig {
  return {
    config: presentConfig(current),
    sources,
    file,
    needs_restart: [...needsRestart],
    warnings: [...warnings],
  };
}

export function presentReload({ changed, needsRestart, warnings }: Reloaded): WireConfigReload {
  return { changed, needs_restart: needsRestart, warnings };
}

/** Everything that is wrong with a configuration; the file and the line stand in the message. */
export function presentProblems({ problems }: ConfigError): FieldError[] {
  return problems.map((problem) => ({
    field: problem.path,
    message: problemLine({ ...problem, path: '' }),
  }));
}
