import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { ConfigError, type LoadedConfig, type LoadOptions, loadConfig } from '../../src/config/load.ts';

/** A folder of its own with these files, removed when the test ends. */
export async function folderWith(t: ExecutionContext, files: Record<string, string> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-config-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
  return folder;
}

/** Load from a folder that holds `svc.config.yaml` with this text. */
export async function load(
  t: ExecutionContext,
  yaml: string,
  options: Partial<LoadOptions> = {},
): Promise<LoadedConfig> {
  const cwd = await folderWith(t, { 'svc.config.yaml': yaml });
  return loadConfig({ env: {}, cwd, ...options });
}

/** The lines of the error that loading this text gives. */
export async function problemsOf(
  t: ExecutionContext,
  yaml: string,
  options: Partial<LoadOptions> = {},
): Promise<string[]> {
  const error = await t.throwsAsync(load(t, yaml, options), { instanceOf: ConfigError });
  return error?.message.split('\n') ?? [];
}
