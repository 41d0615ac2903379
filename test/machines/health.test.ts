import test from 'ava';
import type { HealthEvent } from '../../machines/events.ts';
import { type HealthLife, healthMachine } from '../../machines/healthMachine.ts';
import { health, healthAfter, healthInEveryState, newHealth, refused } from './fleet.ts';
import { checkTable, checkWholeTable, type EveryEventHasARow } from './stateTable.ts';

const rows = {
  'health.failed': () => health.failed(),
  'health.failed and not often enough': () => health.failed(3),
  'health.due': () => health.due,
  'health.trialSent': () => health.trialSent,
  'health.trialReturned': () => health.trialReturned,
  'health.succeeded': () => health.succeeded,
};
const isWhole: EveryEventHasARow<HealthEvent, keyof typeof rows> = true;

checkWholeTable<HealthLife, HealthEvent>(
  'health',
  healthMachine,
  healthInEveryState(),
  rows,
  `
event                              | well  | aside | due    | trying
health.failed                      | aside | -     | aside  | aside
health.failed and not often enough | well  | -     | aside  | aside
health.due                         | -     | due   | -      | -
health.trialSent                   | -     | -     | trying | -
health.trialReturned               | -     | -     | -      | due
health.succeeded                   | well  | well  | well   | well
`,
  isWhole,
);

const twice = healthAfter(newHealth(), health.failed(3), health.failed(3));

checkTable<HealthLife, HealthEvent>(
  'health after two failures of three',
  healthMachine,
  { 'two failures': twice, 'two and a success': healthAfter(twice, health.succeeded) },
  { 'health.failed the third time': () => health.failed(3) },
  `
event                        | two failures | two and a success
health.failed the third time | aside        | well
`,
);

test('a fault is remembered with its failure and its end, and each one in a row is counted', (t) => {
  const aside = healthAfter(newHealth(), health.failed(1, 10, 1_010));
  t.deepEqual(aside.context, {
    workerId: 'w1',
    provider: 'vllm',
    model: null,
    fault: 'unreachable',
    failure: refused,
    at: 10,
    until: 1_010,
    inRow: 1,
  });
  const again = healthAfter(aside, health.due, health.trialSent, health.failed(1, 50, 2_050));
  t.like(again.context, { at: 50, until: 2_050, inRow: 2 });
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
