import { topLevelModel } from './checks.ts';
import type { Config } from './config.ts';
import type { ConfigFile } from './file.ts';
import type { Given } from './layers.ts';
import { leavesOf } from './leaves.ts';
import { presentConfig } from './present.ts';

/** The source of an effective value. */
export type Source = 'flag' | 'environment' | 'file' | 'default';

/** The source of every value, by its key path as in the file. */
export function sourcesOf(config: Config, file: ConfigFile, given: Given): Record<string, Source> {
  const sources: Record<string, Source> = {};
  for (const { steps, path } of leavesOf(presentConfig(config))) {
    sources[path] = given[path] ?? (isInFile(file, steps) ? 'file' : 'default');
  }
  return sources;
}

function isInFile(file: ConfigFile, steps: readonly string[]): boolean {
  let value: unknown = file;
  for (const step of steps) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step))
      return isTopLevelModel(file, steps);
    value = Object.entries(value).find(([key]) => key === step)?.[1];
  }
  return (value !== undefined && value !== null) || isTopLevelModel(file, steps);
}

/** `providers.ollama.model` may be written as `ollama.model`. */
function isTopLevelModel(file: ConfigFile, [top, provider, key]: readonly string[]): boolean {
  return (
    top === 'providers' && key === 'model' && provider !== undefined && topLevelModel(file, provider) !== null
  );
}
