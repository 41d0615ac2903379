import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';

/** A folder of the test's own, removed when it ends. */
export function temporaryFolder(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
