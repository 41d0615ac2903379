import test from 'ava';
import type { Spool } from '../../src/coordinator/spools/index.ts';
import { FailingFiles, systemError } from '../store/failingFiles.ts';
import { type Bundle, request, setup } from '../support/coordinator.ts';

const hourMs = 3_600_000;

async function linesOf({ coordinator }: Pick<Bundle, 'coordinator'>, jobId: string, from = 0) {
  const all: string[] = [];
  let end = from;
  for await (const { lines, next } of coordinator.spools.read(jobId, from)) {
    all.push(...lines);
    end = next;
  }
  return { lines: all, end };
}

async function written(spool: Spool): Promise<void> {
  while (!spool.isOver && spool.size === 0) await new Promise((resolve) => setImmediate(resolve));
  await spool.written();
}

test('lines are read as they are written, from any place, and after a restart', async (t) => {
  const bundle = await setup(t);
  const { job } = await bundle.coordinator.dispatch(request());
  const spool = bundle.coordinator.spools.begin(job.id);
  t.is(bundle.coordinator.spools.growing(job.id), spool);
  t.deepEqual(await linesOf(bundle, job.id), { lines: [], end: 0 });
  spool.add('one');
  spool.add('zwö');
  await written(spool);
  const first = await linesOf(bundle, job.id);
  t.deepEqual(first, { lines: ['one', 'zwö'], end: 9 });
  spool.add('x'.repeat(200_000));
  spool.add('last');
  await spool.written();
  t.deepEqual((await linesOf(bundle, job.id, first.end)).lines, ['x'.repeat(200_000), 'last']);
  const again = await bundle.restart();
  t.is(again.coordinator.spools.growing(job.id), null);
  t.is((await linesOf(again, job.id)).lines.length, 4);
  t.deepEqual(await linesOf(again, 'unknown'), { lines: [], end: 0 });
});

test('memory has the end of a spool, and from any line on says what the disk says', async (t) => {
  const bundle = await setup(t);
  const spool = bundle.coordinator.spools.begin('a');
  const all = Array.from({ length: 300 }, (_, place) => `${place}${'ö'.repeat(place % 40)}`);
  for (const line of all) {
    spool.add(line);
    await spool.written();
  }
  const places = all.map((_, place) =>
    Buffer.byteLength(
      all
        .slice(0, place)
        .map((line) => `${line}\n`)
        .join(''),
    ),
  );
  const inMemory = places.filter((from) => spool.recent(from) !== null);
  t.true(inMemory.length > 50 && inMemory.length < 200);
  for (const [place, from] of places.entries())
    t.deepEqual(await linesOf(bundle, 'a', from), { lines: all.slice(place), end: spool.size });
  spool.add('x'.repeat(10_000));
  await spool.written();
  t.is(spool.recent(places.at(-1) ?? 0), null);
  t.deepEqual((await linesOf(bundle, 'a', places.at(-1))).lines, [all.at(-1), 'x'.repeat(10_000)]);
});

test('a spool ends before it has more than 4 MiB, and says so to those who listen', async (t) => {
  const bundle = await setup(t);
  const spool = bundle.coordinator.spools.begin('a');
  let notices = 0;
  const forget = spool.onChange(() => {
    notices += 1;
  });
  const line = 'x'.repeat(1024 * 1024);
  for (let count = 0; count < 6 && !spool.isOver; count += 1) {
    spool.add(line);
    t.true(count > 2 || spool.isFull);
    await spool.written();
  }
  t.true(spool.isOver);
  t.is((await linesOf(bundle, 'a')).lines.length, 3);
  t.true(notices >= 4);
  forget();
  spool.add('more');
  t.is(bundle.coordinator.spools.growing('a'), null);
  t.is((await linesOf(bundle, 'a')).lines.length, 3);
});

test('a full disk ends a spool; what was written stays, and is read', async (t) => {
  const files = new FailingFiles();
  const bundle = await setup(t, {}, { files });
  const spool = bundle.coordinator.spools.begin('a');
  spool.add('first');
  await written(spool);
  files.before = ({ name, path }) => {
    if (name === 'write' && path.includes('stream-')) throw systemError('ENOSPC');
  };
  spool.add('second');
  await spool.written();
  t.true(spool.isOver);
  files.before = () => {};
  spool.add('third');
  t.deepEqual((await linesOf(bundle, 'a')).lines, ['first']);
  // What is left of the disk is for the journal.
  files.free = { total: 1000, free: 1 };
  const other = bundle.coordinator.spools.begin('b');
  other.add('first');
  await other.written();
  t.true(other.isOver);
  t.deepEqual((await linesOf(bundle, 'b')).lines, []);
});

test('a spool goes an hour after the end of its job, with its job, and when it is removed', async (t) => {
  const bundle = await setup(t);
  const { coordinator, clock } = bundle;
  const worker = await bundle.worker();
  const { job } = await coordinator.dispatch(request());
  for (const id of [job.id, 'of no job', 'removed']) {
    const spool = coordinator.spools.begin(id.replaceAll(' ', '-'));
    spool.add('line');
    spool.end();
    await written(spool);
  }
  await coordinator.spools.remove('removed');
  await coordinator.spools.remove('removed');
  t.deepEqual((await linesOf(bundle, 'removed')).lines, []);
  await worker.complete(await worker.job());
  const ended = await bundle.jobAs(job.id, 'completed');
  /** It looks once a minute, and sets the time of the next look when it has ended. */
  const gone = async (id: string) => {
    for (let look = 0; look < 100; look += 1) {
      clock.advance(61_000);
      if ((await linesOf(bundle, id)).lines.length === 0) return true;
    }
    return false;
  };
  t.true(await gone('of-no-job'));
  t.is((await linesOf(bundle, job.id)).lines.length, 1);
  const finishedAt = ended.life.finishedAt ?? 0;
  t.true(await gone(job.id));
  t.true(clock.now() >= finishedAt + hourMs);
});

test('a spool that is too old goes at the next start', async (t) => {
  const bundle = await setup(t);
  const { coordinator, clock } = bundle;
  const worker = await bundle.worker();
  const { job } = await coordinator.dispatch(request());
  const spool = coordinator.spools.begin(job.id);
  spool.add('line');
  spool.end();
  await written(spool);
  await worker.complete(await worker.job());
  await bundle.jobAs(job.id, 'completed');
  clock.sleep(hourMs);
  const again = await bundle.restart();
  for (let look = 0; look < 1_000; look += 1) {
    if ((await linesOf(again, job.id)).lines.length === 0) break;
  }
  t.deepEqual((await linesOf(again, job.id)).lines, []);
});
