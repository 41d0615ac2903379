import test from 'ava';
import type { HealthEvent } from '../../machines/events.ts';
import type { HealthLife } from '../../machines/healthLife.ts';
import { healthMachine } from '../../machines/healthMachine.ts';
import { type Fault, faults } from '../../src/domain/failure.ts';
import { health, healthAfter, healthInEveryState, newHealth, refused } from './fleet.ts';
import { checkTable, checkWholeTable, type EveryEventHasARow } from './stateTable.ts';

const rows = {
  'health.failed': () => health.failed(),
  'health.failed in a job from before': () => health.failed(15, 9),
  'health.due': () => health.due,
  'health.trialSent': () => health.trialSent,
  'health.trialReturned': () => health.trialReturned,
  'health.trialReturned by another job': () => ({ ...health.trialReturned, jobId: 'j2' }),
  'health.trialReturned by another lease': () => ({ ...health.trialReturned, lease: 3 }),
  'health.succeeded': () => health.succeeded,
};
const isWhole: EveryEventHasARow<HealthEvent, keyof typeof rows> = true;

checkWholeTable<HealthLife, HealthEvent>(
  'health',
  healthMachine,
  healthInEveryState(),
  rows,
  `
event                                 | well  | aside | due    | trying
health.failed                         | aside | -     | aside  | aside
health.failed in a job from before    | aside | -     | -      | -
health.due                            | -     | due   | -      | -
health.trialSent                      | -     | -     | trying | -
health.trialReturned                  | -     | -     | -      | due
health.trialReturned by another job   | -     | -     | -      | -
health.trialReturned by another lease | -     | -     | -      | -
health.succeeded                      | well  | well  | well   | well
`,
  isWhole,
);

const twice = healthAfter(newHealth('failing'), health.failed(), health.failed());

checkTable<HealthLife, HealthEvent>(
  'health after failures of which three are enough',
  healthMachine,
  {
    none: newHealth('failing'),
    'two failures': twice,
    'two and a success': healthAfter(twice, health.succeeded),
  },
  { 'health.failed once more': () => health.failed() },
  `
event                   | none | two failures | two and a success
health.failed once more | well | aside        | well
`,
);

test('a fault is remembered with its failure and its end, and each one in a row is counted', (t) => {
  const aside = healthAfter(newHealth(), health.failed(10));
  t.deepEqual(aside.context, {
    workerId: 'w1',
    provider: 'vllm',
    model: null,
    fault: 'unreachable',
    failure: refused,
    at: 10,
    until: 1_010,
    since: 10,
    trial: null,
    inRow: 1,
  });
  const sent = healthAfter(aside, health.due, health.trialSent);
  t.like(sent.context, { trial: { jobId: 'j1', lease: 2 } });
  t.is(healthAfter(sent, health.trialReturned).context.trial, null);
  const again = healthAfter(sent, health.failed(50));
  t.like(again.context, { at: 50, until: 2_050, since: 50, trial: null, inRow: 2 });
});

test('a worker is passed over for twice as long with each failure in a row, up to the most for its fault', (t) => {
  const most = { unreachable: 60, loading: 60, refused: 3_600, missing: 600, failing: 60 } as const;
  const firsts = { unreachable: 1, loading: 1, refused: 60, missing: 10, failing: 1 } as const;
  for (const fault of faults) {
    let now = newHealth(fault);
    while (now.value === 'well') now = healthAfter(now, health.failed());
    const seconds: number[] = [];
    for (let times = 0; times < 30; times += 1) {
      seconds.push(((now.context.until ?? 0) - 10) / 1_000);
      now = healthAfter(now, health.due, health.failed());
    }
    const first = firsts[fault];
    t.deepEqual(seconds.slice(0, 4), [first, 2 * first, 4 * first, 8 * first], fault);
    t.is(seconds.at(-1), most[fault], fault);
  }
});

test('trials spread over a quarter of the time, but a refused key is tried at a time that is known', (t) => {
  const early = (fault: Fault) => healthAfter(newHealth(fault), health.failed(10, 10, 1)).context.until;
  t.is(early('unreachable'), 10 + 750);
  t.is(early('refused'), 10 + 60_000);
});

test('a worker is passed over while it is aside and during its trial, and the trial has no end that is known', (t) => {
  for (const [name, snapshot] of Object.entries(healthInEveryState())) {
    t.is(snapshot.hasTag('passedOver'), name === 'aside' || name === 'trying', name);
    t.is(snapshot.context.until !== null, name === 'aside', name);
  }
});

test('a success forgets all', (t) => {
  for (const snapshot of Object.values(healthInEveryState())) {
    t.like(healthAfter(snapshot, health.succeeded).context, { failure: null, until: null, inRow: 0 });
  }
});
