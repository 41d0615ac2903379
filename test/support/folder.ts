import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';

/** Whose end ends what was made for it: a test, or all tests of a file. */
export type Owner = Pick<ExecutionContext, 'teardown'>;

/** A folder of the owner's own, removed when it ends. */
export function temporaryFolder(t: Owner): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
