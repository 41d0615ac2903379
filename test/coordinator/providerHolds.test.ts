import test from 'ava';
import type { ReportedFailure } from '../../src/domain/failure.ts';
import type { ProviderHold } from '../../src/domain/provider.ts';
import type { Change } from '../../src/store/store.ts';
import { auditQueryOf } from '../conformance/audit.ts';
import { type Bundle, type HandWorker, request, setup } from '../support/coordinator.ts';

const rateLimit = { maxConcurrent: null, retryAfterSeconds: 30, maxRetries: 20, retryAfterMaxSeconds: 300 };
const breaker = { ratio: 0.5, minimum: 2, windowSeconds: 60, openSeconds: 30 };
const settings = {
  jobs: { maxAttempts: 1 },
  providers: { echo: { rateLimit, breaker, model: null, baseUrl: null, apiKeyEnv: null } },
};

const tooMany = (retryAfterMs: number | null): ReportedFailure => ({
  class: 'rate_limited',
  message: 'slow down',
  status: 429,
  code: null,
  retryAfterMs,
});
const broken: ReportedFailure = { ...tooMany(null), class: 'server_error', message: 'down', status: 500 };

/** Time for a commit. */
async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 300; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

async function failNext(
  { coordinator }: Bundle,
  hand: HandWorker,
  failure: ReportedFailure,
): Promise<string> {
  const nth = hand.jobs.length + 1;
  const { job } = await coordinator.dispatch(request());
  const { job_id: jobId, lease } = await hand.job(nth);
  await hand.connection.conclude({ jobId, lease }, { type: 'fail', failure, usage: null });
  return job.id;
}

/** Resolves when the store has what is looked for. */
async function storedWhen({ store }: Bundle, isReached: (holds: ProviderHold[]) => boolean): Promise<void> {
  for (let turn = 0; turn < 500_000; turn += 1) {
    if (isReached(await store.providers())) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  throw new Error(`the store has ${JSON.stringify(await store.providers())}`);
}

const isStored = (bundle: Bundle) =>
  storedWhen(bundle, (holds) => holds.some(({ until }) => until === providerOf(bundle).until));
const isRemoved = (bundle: Bundle) => storedWhen(bundle, (holds) => holds.length === 0);

/** Let time pass while a worker is there. */
function pass({ clock }: Bundle, hand: HandWorker, ms: number): void {
  for (let left = ms; left > 0; left -= 1_000) {
    clock.advance(Math.min(left, 1_000));
    hand.connection.heard();
  }
}

/** A coordinator whose provider has answered 429, which is stored. */
async function limited(bundle: Bundle): Promise<{ hand: HandWorker; id: string; until: number }> {
  const hand = await bundle.worker();
  const id = await failNext(bundle, hand, tooMany(30_000));
  await isStored(bundle);
  return { hand, id, until: providerOf(bundle).until ?? 0 };
}

function providerOf({ coordinator }: Bundle) {
  const found = coordinator.providers().find(({ name }) => name === 'echo');
  if (found === undefined) throw new Error('there is no echo');
  return found;
}

/** The kinds of change of each commit from now on that is about providers. */
function watchCommits({ store }: Bundle): string[][] {
  const commit = store.commit.bind(store);
  const seen: string[][] = [];
  store.commit = (changes: Iterable<Change>) => {
    const all = [...changes];
    if (all.some(({ kind }) => kind.startsWith('provider'))) seen.push(all.map(({ kind }) => kind));
    return commit(all);
  };
  return seen;
}

test('a limit is stored when it begins, and after a restart the provider is asked when it ends', async (t) => {
  const first = await setup(t, settings);
  const { id, until } = await limited(first);
  t.like(await first.store.providers(), [
    { name: 'echo', status: 'limited', until, limitsInRow: 1, cause: null },
  ]);
  first.clock.advance(3_000);
  const second = await first.restart();
  t.like(providerOf(second), { status: 'limited', until, limitsInRow: 1 });
  const hand = await second.worker();
  await someTurns();
  t.is(hand.jobs.length, 0);
  t.like((await second.coordinator.job(id)).waiting, { reason: 'provider_limited', until });
  pass(second, hand, until - second.clock.now() - 1);
  await someTurns();
  t.is(hand.jobs.length, 0);
  pass(second, hand, 1);
  const job = await hand.job();
  t.is(job.job_id, id);
  t.is(providerOf(second).status, 'probing');
  await hand.complete(job);
  await isRemoved(second);
  t.is(providerOf(await second.restart()).status, 'available');
});

test('a limit that follows one of before a restart is longer, as without the restart', async (t) => {
  const first = await setup(t, settings);
  const { until } = await limited(first);
  const second = await first.restart();
  const hand = await second.worker();
  pass(second, hand, until - second.clock.now());
  const { job_id: jobId, lease } = await hand.job();
  const failure = tooMany(null);
  await hand.connection.conclude({ jobId, lease }, { type: 'fail', failure, usage: null });
  t.like(providerOf(second), { status: 'limited', limitsInRow: 2 });
  t.true((providerOf(second).until ?? 0) >= second.clock.now() + 60_000);
});

test('an open breaker is open after a restart, with what opened it; workers that return do not end that', async (t) => {
  const first = await setup(t, settings);
  const hand = await first.worker({ name: 'box' });
  await failNext(first, hand, broken);
  await failNext(first, hand, broken);
  const waiting = (await first.coordinator.dispatch(request())).job;
  await isStored(first);
  const { until } = providerOf(first);
  t.like(await first.store.providers(), [
    { status: 'open', until, opensInRow: 1, cause: { message: 'down' } },
  ]);
  first.clock.advance(3_000);
  const second = await first.restart();
  const back = await second.worker({ name: 'box' });
  await someTurns();
  t.is(back.jobs.length, 0);
  t.like(providerOf(second), {
    status: 'open',
    until,
    breaker: { opensInRow: 1, openedBy: { message: 'down' } },
  });
  const why = (await second.coordinator.job(waiting.id)).waiting;
  t.like(why, { reason: 'provider_open', until });
  t.regex(why?.detail ?? '', /What stopped it: down/);
  pass(second, back, (until ?? 0) - second.clock.now());
  t.is((await back.job()).job_id, waiting.id);
});

test('a worker that comes long after a restart is tried at once, as ever', async (t) => {
  const long = { ...settings.providers.echo, breaker: { ...breaker, openSeconds: 600 } };
  const first = await setup(t, { ...settings, providers: { echo: long } });
  const hand = await first.worker();
  await failNext(first, hand, broken);
  await failNext(first, hand, broken);
  await first.coordinator.dispatch(request());
  await isStored(first);
  const second = await first.restart();
  second.clock.advance(25_001);
  await (await second.worker()).job();
  t.is(providerOf(second).status, 'probing');
});

test('a reset is durable with its entry in the audit log, in one commit', async (t) => {
  const first = await setup(t, settings);
  await limited(first);
  const commits = watchCommits(first);
  const by = { actor: { keyId: 'k', name: 'ada', role: 'operator' as const }, address: null };
  t.like(await first.coordinator.resetProvider('echo', by), { status: 'available', until: null });
  t.deepEqual(await first.store.providers(), []);
  await someTurns();
  first.clock.advance(2_000);
  await someTurns();
  t.deepEqual(commits, [['providerRemoved', 'audit']]);
  t.deepEqual(await first.store.providers(), []);
  t.is((await first.store.audit(auditQueryOf())).total, 1);
  t.is(providerOf(await first.restart()).status, 'available');
});

test('a reset that the store refuses changes nothing', async (t) => {
  const bundle = await setup(t, settings);
  const { until } = await limited(bundle);
  const commit = bundle.store.commit.bind(bundle.store);
  bundle.store.commit = async () => {
    throw new Error('full');
  };
  await t.throwsAsync(bundle.coordinator.resetProvider('echo'), { message: 'full' });
  bundle.store.commit = commit;
  t.like(providerOf(bundle), { status: 'limited', until });
  t.like(await bundle.store.providers(), [{ until }]);
  t.is((await bundle.coordinator.resetProvider('echo')).status, 'available');
});

test('many 429s in a row cost a commit a second, and the last of them is what is stored', async (t) => {
  const bundle = await setup(t, settings);
  const hand = await bundle.worker({ concurrency: 100 });
  for (let count = 0; count < 100; count += 1) await bundle.coordinator.dispatch(request());
  await hand.job(100);
  const commits = watchCommits(bundle);
  for (const [index, { job_id: jobId, lease }] of hand.jobs.slice(0, 100).entries()) {
    const failure = tooMany(30_000 + index * 1_000);
    await hand.connection.conclude({ jobId, lease }, { type: 'fail', failure, usage: null });
  }
  await storedWhen(bundle, (holds) => holds.length === 1);
  await someTurns();
  t.is(commits.length, 1);
  bundle.clock.advance(1_000);
  await isStored(bundle);
  t.is(commits.length, 2);
  bundle.clock.advance(5_000);
  await someTurns();
  t.is(commits.length, 2);
});

test('a limit that the store refuses is stored a second later', async (t) => {
  const bundle = await setup(t, settings);
  const hand = await bundle.worker();
  const commit = bundle.store.commit.bind(bundle.store);
  let refused = 0;
  bundle.store.commit = async (changes: Iterable<Change>) => {
    const all = [...changes];
    if (!all.some(({ kind }) => kind === 'provider')) return commit(all);
    refused += 1;
    throw new Error('full');
  };
  await failNext(bundle, hand, tooMany(30_000));
  await someTurns();
  t.is(refused, 1);
  t.is(providerOf(bundle).status, 'limited');
  bundle.store.commit = commit;
  bundle.clock.advance(1_000);
  await isStored(bundle);
  t.like(await bundle.store.providers(), [{ name: 'echo', status: 'limited' }]);
});

test('a limit that ended while nobody was there is followed by a probe; one long over is forgotten', async (t) => {
  const first = await setup(t, settings);
  const { id } = await limited(first);
  first.clock.sleep(60_000);
  const second = await first.restart();
  const hand = await second.worker();
  second.clock.advance(1);
  t.is((await hand.job()).job_id, id);
  t.is(providerOf(second).status, 'probing');
  second.clock.sleep(700_000);
  const third = await second.restart();
  t.is(providerOf(third).status, 'available');
  await isRemoved(third);
});

test('a wall clock that was set back meanwhile makes no limit longer than there can be', async (t) => {
  const first = await setup(t, settings);
  await limited(first);
  first.clock.jump(-86_400_000);
  const second = await first.restart();
  t.true((providerOf(second).until ?? 0) <= second.clock.now() + 330_000);
});

test('what is limited at a shutdown is stored then, also within the second after another change', async (t) => {
  const first = await setup(t, settings);
  const { hand, until } = await limited(first);
  await first.coordinator.resetProvider('echo');
  await failNext(first, hand, tooMany(100_000));
  const second = await first.restart();
  t.true((providerOf(second).until ?? 0) > until);
});
