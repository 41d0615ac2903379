import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { seededRandom } from '../support/fakeClock.ts';
import { emptyFolder, openStore } from './folders.ts';
import { queryOf } from './jobs.ts';

const kills = 12;
/** Moves that are seen before each kill, and how long after the last of them it comes, ms. */
const movesBefore = { min: 1, max: 12 };
const killWithinMs = 12;

/** Let a process make and archive jobs, and kill it in the middle of that. @returns what it said, whole lines only. */
async function archiveAndDie(
  t: ExecutionContext,
  path: string,
  first: number,
  { moves, afterMs }: { moves: number; afterMs: number },
): Promise<string[]> {
  const script = fileURLToPath(new URL('./archiver.ts', import.meta.url));
  const child = spawn(process.execPath, [script, path, String(first)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const exit = once(child, 'close');
  let said = '';
  child.stdout.setEncoding('utf8');
  await new Promise<void>((resolve, reject) => {
    exit.then(() => reject(new Error('it ended by itself')), reject);
    child.stdout.on('data', (text: string) => {
      said += text;
      if (said.split('left ').length > moves) resolve();
    });
  });
  await delay(afterMs);
  child.kill('SIGKILL');
  await exit;
  return said.split('\n').slice(0, -1);
}

test('kill -9 while jobs are archived leaves each that was acknowledged hot or archived, once', async (t) => {
  t.timeout(240_000);
  const path = await emptyFolder(t);
  const random = seededRandom(7);
  const acknowledged = new Set<string>();
  let next = 0;
  for (let kill = 0; kill < kills; kill += 1) {
    const moves = movesBefore.min + Math.floor(random.next() * (movesBefore.max - movesBefore.min));
    const lines = await archiveAndDie(t, path, next, { moves, afterMs: random.next() * killWithinMs });
    for (const line of lines) if (line.startsWith('job ')) acknowledged.add(line.slice('job '.length));
    // Those of the commit that nobody heard of may be there too.
    next += lines.filter((line) => line.startsWith('job ')).length + 10;
  }
  const store = await openStore(t, path);
  const hot = await store.jobs(queryOf({ limit: 1000 }));
  let archived = 0;
  for (const id of acknowledged) {
    const [here, there] = [await store.job(id), await store.archivedJob(id)];
    t.is(
      [here, there].filter((job) => job !== undefined).length,
      1,
      `${id} is hot or archived, and not both`,
    );
    t.is((here ?? there)?.request.prompt, id);
    if (there !== undefined) archived += 1;
  }
  t.true(archived > kills, `${archived} of ${acknowledged.size} are archived`);
  const seen: string[] = [];
  for await (const jobs of store.scan(queryOf(), true)) seen.push(...jobs.map(({ id }) => id));
  t.is(new Set(seen).size, seen.length, 'nothing is told twice');
  t.deepEqual(
    [...acknowledged].filter((id) => !seen.includes(id)),
    [],
  );
  t.is((await store.counts()).total, hot.total);
});
