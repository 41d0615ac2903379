import test from 'ava';
import fc from 'fast-check';
import { bulkFilter, type JobFilters } from '../../src/client/client.ts';
import { ApiError } from '../../src/client/errors.ts';
import { askFor, isMatch, readFilters } from '../../src/dashboard/pages/jobs/filters.ts';
import { JobList } from '../../src/dashboard/pages/jobs/jobList.ts';
import { Selection } from '../../src/dashboard/pages/jobs/selection.ts';
import type { WireJob } from '../../src/domain/wire/job.ts';
import { wireJob } from '../client/server.ts';

const idOf = (n: number) => `01990000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const job = (n: number, more: Partial<WireJob> = {}): WireJob => ({ ...wireJob(), id: idOf(n), ...more });

/** A list of `size` jobs on a server that answers when it is let. */
function setup(stored: number, gainsByChange = false) {
  let size = stored;
  let isRefused = false;
  let isNewestArchived = false;
  const asked: JobFilters[] = [];
  let due: (() => void)[] = [];
  const list = new JobList({
    load: (filters) => {
      asked.push(filters);
      if (isRefused) return Promise.reject(new Error('no'));
      const { offset = 0, limit = 50, newest } = filters;
      if (isNewestArchived && newest === idOf(stored)) {
        const errors = [{ field: 'newest', message: 'must be the id of a job that is not archived' }];
        return Promise.reject(new ApiError(400, { detail: 'no', errors }));
      }
      const total = newest === undefined ? size : Number(newest.slice(-12));
      const jobs = Array.from({ length: Math.max(0, Math.min(limit, total - offset)) }, (_, i) =>
        job(total - offset - i),
      );
      return Promise.resolve({ jobs, total, limit, offset });
    },
    filters: { provider: 'echo' },
    isMatch: ({ provider }) => provider === 'echo',
    gainsByChange,
    after: (_, run) => {
      due.push(run);
      return () => {
        due = due.filter((one) => one !== run);
      };
    },
  });
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
  const paint = () => {
    const runs = due;
    due = [];
    for (const run of runs) run();
  };
  const grow = (by: number) => {
    size += by;
  };
  const refuse = (is: boolean) => {
    isRefused = is;
  };
  const archiveNewest = () => {
    isNewestArchived = true;
    size -= 1;
  };
  return { list, asked, settle, paint, grow, refuse, archiveNewest };
}

test('a list reads the pages in view, each once, and begins where it began', async (t) => {
  const { list, asked, settle } = setup(1_000);
  list.ensure(0, 30);
  list.ensure(0, 30);
  await settle();
  t.deepEqual(asked, [{ provider: 'echo', limit: 100, offset: 0 }]);
  list.ensure(180, 230);
  await settle();
  t.deepEqual(
    asked.slice(1).map(({ offset, newest }) => [offset, newest]),
    [
      [100, idOf(1_000)],
      [200, idOf(1_000)],
    ],
  );
  t.is(list.row(205)?.id, idOf(795));
  t.is(list.row(305), undefined);
});

test('a list whose first job is archived begins with the next one and stays where it is read', async (t) => {
  const { list, settle, archiveNewest } = setup(1_000);
  list.ensure(0, 30);
  await settle();
  archiveNewest();
  list.ensure(180, 230);
  await settle();
  await settle();
  t.is(list.state.value.error, null);
  t.is(list.row(205)?.id, idOf(794));
  t.is(list.filters.newest, idOf(999));
});

test('a list keeps only pages near the view', async (t) => {
  const { list, asked, settle } = setup(10_000);
  list.ensure(0, 50);
  await settle();
  for (let from = 0; from < 5_000; from += 100) {
    list.ensure(from, from + 50);
    await settle();
  }
  t.is(asked.length, 50);
  t.is(list.row(0), undefined);
  t.is(list.get(idOf(10_000)), undefined);
  t.truthy(list.row(4_900));
});

test('a row changes in its place, and a new job is only counted, once', async (t) => {
  const { list, settle, paint } = setup(50);
  list.ensure(0, 50);
  await settle();
  list.onEvent(job(40, { status: 'cancelled' }), false);
  list.onEvent(job(51), true);
  list.onEvent(job(51), false);
  list.onEvent(job(52, { provider: 'other' }), true);
  list.onEvent(job(53), true);
  t.is(list.state.value.fresh, 0);
  paint();
  t.is(list.state.value.fresh, 2);
  t.is(list.row(10)?.status, 'cancelled');
  t.is(list.row(0)?.id, idOf(50));
});

test('an empty list shows the first jobs that come, and counts those that come later', async (t) => {
  const { list, asked, settle, paint, grow } = setup(0);
  list.ensure(0, 50);
  await settle();
  t.like(list.state.value, { total: 0, fresh: 0 });
  list.onEvent(job(1, { provider: 'other' }), true);
  paint();
  t.is(asked.length, 1, 'a job that does not belong here is no reason to ask');
  grow(2);
  list.onEvent(job(1), true);
  list.onEvent(job(2), true);
  paint();
  await settle();
  t.is(asked.length, 2);
  t.like(list.state.value, { total: 2, fresh: 0 });
  t.deepEqual([list.row(0)?.id, list.row(1)?.id], [idOf(2), idOf(1)]);
  list.onEvent(job(3), true);
  paint();
  await settle();
  t.is(asked.length, 2);
  t.like(list.state.value, { total: 2, fresh: 1 });
});

test('a job that is in no page that was read and not new either is not counted', async (t) => {
  const old = setup(500);
  old.list.ensure(0, 50);
  await old.settle();
  old.list.onEvent(job(100), false);
  old.list.onEvent(job(101, { created_at: '2026-11-01T00:00:00.000Z' }), true);
  old.paint();
  t.is(old.list.state.value.fresh, 0);
  // Under a filter by state it may have come in.
  const filtered = setup(500, true);
  filtered.list.ensure(0, 50);
  await filtered.settle();
  filtered.list.onEvent(job(100), false);
  filtered.paint();
  t.is(filtered.list.state.value.fresh, 1);
});

test('after missed events the rows in view are read anew in their place, and what came in is counted', async (t) => {
  const { list, asked, settle, paint, grow } = setup(400);
  list.ensure(0, 50);
  await settle();
  list.ensure(120, 150);
  await settle();
  list.ensure(120, 150);
  grow(7);
  const before = asked.length;
  await list.refresh();
  await settle();
  paint();
  t.is(list.state.value.fresh, 7);
  t.is(list.row(120)?.id, idOf(280));
  t.is(list.row(0), undefined, 'what is out of view is forgotten');
  t.is(asked.length - before, 2);
});

test('more new jobs than a page holds are counted too', async (t) => {
  const { list, settle, paint, grow } = setup(400);
  list.ensure(0, 50);
  await settle();
  list.onEvent(job(401), true);
  grow(250);
  await list.refresh();
  paint();
  t.is(list.state.value.fresh, 250);
});

test('what happens while an answer is on its way is not lost, however old the answer is', async (t) => {
  const { list, settle, paint } = setup(50);
  list.ensure(0, 50);
  list.onEvent(job(51), true);
  list.onEvent(job(40, { status: 'cancelled' }), false);
  await settle();
  paint();
  t.is(list.state.value.fresh, 1);
  t.is(list.row(10)?.status, 'cancelled');
});

test('a first answer that is older than the live connection is read again, and what came between is counted', async (t) => {
  const { list, asked, settle, paint, grow } = setup(50);
  list.ensure(0, 50);
  grow(2);
  await list.refresh();
  list.onEvent(job(52), true);
  await settle();
  paint();
  t.is(list.row(0)?.id, idOf(50));
  t.is(list.state.value.fresh, 2);
  t.deepEqual(
    asked.map(({ newest }) => newest),
    [undefined, idOf(50), undefined],
  );
});

test('jobs that come into an empty list by reading it again are not new besides', async (t) => {
  const { list, settle, paint, grow } = setup(0);
  list.ensure(0, 50);
  await settle();
  grow(1);
  list.onEvent(job(1), true);
  await list.refresh();
  await settle();
  paint();
  t.is(list.row(0)?.id, idOf(1));
  t.is(list.state.value.fresh, 0);
});

test('what could not be read is read at the next try', async (t) => {
  const { list, settle, refuse } = setup(400);
  list.ensure(0, 50);
  await settle();
  refuse(true);
  list.ensure(200, 250);
  await settle();
  t.truthy(list.state.value.error);
  t.is(list.row(200), undefined);
  refuse(false);
  list.retry();
  await settle();
  t.is(list.state.value.error, null);
  t.is(list.row(200)?.id, idOf(200));
});

test('what could not be read is read when the live connection is up', async (t) => {
  const { list, settle, refuse } = setup(400);
  refuse(true);
  list.ensure(0, 50);
  await settle();
  t.truthy(list.state.value.error);
  refuse(false);
  await list.refresh();
  await settle();
  t.is(list.state.value.error, null);
  t.is(list.row(0)?.id, idOf(400));
});

test('filters in an address are those of the API, and what it does not know is passed over', (t) => {
  const filters = readFilters(
    new URLSearchParams('status=failed,pending&status=gone&tag=a&tag=b&tag=a&q=+x&within=1h&provider=echo'),
  );
  t.deepEqual(filters.status, ['pending', 'failed']);
  const now = Date.parse('2026-11-21T12:00:00.000Z');
  const asked = askFor(filters, now);
  t.deepEqual(asked, {
    provider: 'echo',
    status: 'pending,failed',
    tags: ['a', 'b'],
    q: 'x',
    createdAfter: '2026-11-21T11:00:00.000Z',
  });
  t.deepEqual(bulkFilter({ ...asked, newest: 'n', limit: 5, offset: 3 }), {
    provider: 'echo',
    status: ['pending', 'failed'],
    tag: ['a', 'b'],
    q: 'x',
    created_after: '2026-11-21T11:00:00.000Z',
    newest: 'n',
  });
  t.is(readFilters(new URLSearchParams('within=100y')).within, '');
  const stuck = askFor(readFilters(new URLSearchParams('state=running.stuck')), now);
  t.deepEqual(stuck, { state: 'running.stuck' });
  t.deepEqual(bulkFilter(stuck), { state: 'running.stuck' });
  t.is(readFilters(new URLSearchParams('state=pending.queued')).state, '');
});

test('a job stands in the state that its status, its worker and its wait tell', (t) => {
  const waiting = { detail: '', until: null, position: null };
  const cases: [string, Partial<WireJob>][] = [
    ['pending.ready', { status: 'pending', waiting: { ...waiting, reason: 'no_worker' } }],
    ['pending.delayed', { status: 'pending', waiting: { ...waiting, reason: 'delayed' } }],
    ['running.active', { status: 'running' }],
    ['running.stuck', { status: 'running', stuck: true }],
  ];
  for (const [name] of cases) {
    const filters = readFilters(new URLSearchParams({ state: name }));
    const fitting = cases.filter(([, more]) => isMatch(job(1, more), filters));
    t.deepEqual(
      fitting.map(([state]) => state),
      [name],
    );
  }
});

test('a job belongs to the list as each filter says', (t) => {
  const one = job(7, { prompt: 'Write a Title', provider: 'echo', tags: ['a', 'b'], status: 'failed' });
  const fits = (query: string) => isMatch(one, readFilters(new URLSearchParams(query)));
  for (const query of [
    '',
    'q=title',
    `q=${idOf(7)}`,
    'tag=a&tag=b',
    'status=failed,pending',
    'provider=echo',
  ]) {
    t.true(fits(query), query);
  }
  for (const query of ['q=mail', 'tag=a&tag=c', 'status=pending', 'provider=openai', 'model=x', 'worker=w']) {
    t.false(fits(query), query);
  }
});

test('what is chosen is what was pressed, whatever the order', (t) => {
  const presses = fc.array(fc.record({ index: fc.nat(30), isReach: fc.boolean() }), { maxLength: 30 });
  fc.assert(
    fc.property(presses, (list) => {
      const selection = new Selection();
      const wanted = new Set<number>();
      let last: number | null = null;
      for (const { index, isReach } of list) {
        const isOn = !wanted.has(index);
        const [from, to] =
          isReach && last !== null ? [Math.min(last, index), Math.max(last, index)] : [index, index];
        for (let one = from; one <= to; one += 1) {
          if (isOn) wanted.add(one);
          else wanted.delete(one);
        }
        last = index;
        const reach = (a: number, b: number) => Array.from({ length: b - a + 1 }, (_, i) => idOf(a + i));
        selection.toggle(index, idOf(index), isReach ? reach : null);
      }
      t.deepEqual([...selection.ids.value].sort(), [...wanted].map(idOf).sort());
    }),
  );
});
