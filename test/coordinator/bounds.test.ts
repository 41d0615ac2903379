import test, { type ExecutionContext } from 'ava';
import type { Candidate } from '../../src/coordinator/dispatch/candidates.ts';
import type { Lease } from '../../src/coordinator/fleet/leases.ts';
import { createParts } from '../../src/coordinator/parts.ts';
import { createPricing } from '../../src/cost/pricing.ts';
import { silent } from '../../src/lib/log.ts';
import { SchemaChecks } from '../../src/lib/schemaChecks.ts';
import { FolderBlobs } from '../../src/store/json/blobs.ts';
import { nodeFiles } from '../../src/store/json/files.ts';
import { createJsonStore } from '../../src/store/json/jsonStore.ts';
import { headStart, targetOf } from '../store/jobs.ts';
import { testConfig } from '../support/config.ts';
import { FakeClock, seededRandom } from '../support/fakeClock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { HandSender } from '../support/handSender.ts';

/** The parts of a coordinator that is not started. */
function partsOf(t: ExecutionContext) {
  const config = testConfig();
  const clock = new FakeClock();
  return createParts({
    config: () => config,
    store: createJsonStore({ path: temporaryFolder(t), clock, headStart }),
    blobs: new FolderBlobs({ files: nodeFiles, folder: temporaryFolder(t), logger: silent }),
    clock,
    random: seededRandom(),
    logger: silent,
    pricing: createPricing(() => config, clock),
    webhookSender: new HandSender(),
    checks: new SchemaChecks(),
  });
}

test('a circuit breaker remembers 1,000 attempts, the last ones, however many end within its window', (t) => {
  const { providers } = partsOf(t);
  const lease = { provider: 'echo', model: null, workerId: 'w1' } as Lease;
  for (let count = 0; count < 1_500; count += 1) providers.answered(lease);
  t.like(providers.view('echo').breaker, { attempts: 1_000, failed: 0 });
  const failure = {
    class: 'server_error',
    message: 'no',
    status: 500,
    code: 'server_error',
    retryAfterMs: null,
  } as const;
  for (let count = 0; count < 400; count += 1) providers.failed(lease, failure, 'failing');
  t.like(providers.view('echo').breaker, { attempts: 1_000, failed: 400 });
  t.is(providers.status('echo'), 'available');
  for (let count = 0; count < 100; count += 1) providers.failed(lease, failure, 'failing');
  t.like(providers.view('echo').breaker, { attempts: 1_000, failed: 500 });
  t.is(providers.status('echo'), 'open');
});

test('the turns of 10,000 lanes are remembered; with one more all of them begin again', (t) => {
  const { candidates } = partsOf(t);
  const members = ['first', 'second'].map((provider): Candidate => {
    const free = { state: 'ready', why: 'free', until: null, load: 0, price: null, latencyMs: null } as const;
    return { target: targetOf(provider), model: null, fitting: [], unwell: [], mayBeHeld: false, ...free };
  });
  const turnOf = (lane: number) =>
    candidates.pick({ strategy: 'round_robin' }, `lane-${lane}`, members)?.target.provider;
  for (let lane = 0; lane < 10_000; lane += 1) candidates.took(`lane-${lane}`);
  t.deepEqual([turnOf(0), turnOf(9_999), turnOf(10_000)], ['second', 'second', 'first']);
  candidates.took('lane-10000');
  t.deepEqual([turnOf(0), turnOf(9_999), turnOf(10_000)], ['first', 'first', 'second']);
});
