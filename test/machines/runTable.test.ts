import test from 'ava';
import type { RunEvent } from '../../machines/events.ts';
import { runMachine } from '../../machines/runMachine.ts';
import type { RunLife } from '../../src/domain/run.ts';
import { newRun, run, runAfter, runsInEveryState } from './runs.ts';
import { checkWholeTable } from './stateTable.ts';

const rows: Record<RunEvent['type'], () => RunEvent> = {
  'run.ended': () => run.ended,
  'run.refilled': () => run.refilled,
  'run.paused': () => run.pausedByLimit,
  'run.resumed': () => run.resumed,
  'run.cancelled': () => run.cancelled,
};

checkWholeTable<RunLife, RunEvent>(
  'run',
  runMachine,
  runsInEveryState(),
  rows,
  `
event         | running   | paused    | completed | cancelled
run.ended     | completed | completed | -         | -
run.refilled  | -         | -         | running   | -
run.paused    | paused    | -         | -         | -
run.resumed   | running   | running   | completed | -
run.cancelled | cancelled | cancelled | -         | -
`,
  true,
);

test('an operator pauses also a run whose jobs have all ended: more may come', (t) => {
  const paused = runAfter(newRun(), run.pausedByOperator);
  t.is(runAfter(paused, run.ended).value, 'paused');
});

test('a run remembers its pause while it lasts, its end, and the limits that it was resumed with', (t) => {
  const begun = newRun();
  t.deepEqual(begun.context, {
    limits: { maxCost: 1_000, maxFailures: null, deadline: null },
    pause: null,
    finishedAt: null,
  });
  const paused = runAfter(begun, run.pausedByLimit);
  t.deepEqual(paused.context.pause, { reason: 'max_cost', detail: 'spent', at: 20 });
  const resumed = runAfter(paused, run.resumed);
  t.is(resumed.context.pause, null);
  t.is(resumed.context.limits.maxCost, 2_000);
  t.is(runAfter(begun, run.resumed).context.limits.maxCost, 2_000);
  const completed = runAfter(paused, run.ended);
  t.deepEqual([completed.context.pause, completed.context.finishedAt], [null, 10]);
  t.is(runAfter(completed, run.resumed).context.limits.maxCost, 2_000);
  t.is(runAfter(completed, run.refilled).context.finishedAt, null);
  const cancelled = runAfter(paused, run.cancelled);
  t.deepEqual([cancelled.context.pause, cancelled.context.finishedAt], [null, 40]);
  t.is(runAfter(begun, run.cancelled).context.finishedAt, 40);
});
