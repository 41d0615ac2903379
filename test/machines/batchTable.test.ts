import test from 'ava';
import { batchMachine } from '../../machines/batchMachine.ts';
import type { BatchEvent } from '../../machines/events.ts';
import type { BatchLife } from '../../src/domain/batch.ts';
import { batch, batchAfter, batchesInEveryState, newBatch } from './batches.ts';
import { checkWholeTable } from './stateTable.ts';

const rows: Record<BatchEvent['type'], () => BatchEvent> = {
  'batch.validated': () => batch.validated,
  'batch.refused': () => batch.refused,
  'batch.ended': () => batch.ended,
  'batch.reopened': () => batch.reopened,
  'batch.expired': () => batch.expired,
  'batch.cancelled': () => batch.cancelled,
  'batch.written': () => batch.written,
};

checkWholeTable<BatchLife, BatchEvent>(
  'batch',
  batchMachine,
  batchesInEveryState(),
  rows,
  `
event           | validating  | in_progress | expiring   | cancelling | finalizing  | completed | failed | expired | cancelled
batch.validated | in_progress | -           | -          | -          | -           | -         | -      | -       | -
batch.refused   | failed      | -           | -          | -          | -           | -         | -      | -       | -
batch.ended     | -           | finalizing  | -          | -          | -           | -         | -      | -       | -
batch.reopened  | -           | -           | -          | -          | in_progress | -         | -      | -       | -
batch.expired   | -           | expiring    | -          | -          | -           | -         | -      | -       | -
batch.cancelled | cancelling  | cancelling  | cancelling | -          | -           | -         | -      | -       | -
batch.written   | -           | -           | expired    | cancelled  | completed   | -         | -      | -       | -
`,
  true,
);

test('a batch remembers when it came to each state, what its file has, and what it came to', (t) => {
  t.like(newBatch().context, { lines: null, faults: [], result: null, finishedAt: null });
  const running = batchAfter(newBatch(), batch.validated);
  t.like(running.context, { lines: 3, startedAt: 10 });
  t.like(batchAfter(newBatch(), batch.refused).context, { faults: batch.refused.faults, finishedAt: 10 });
  const expired = batchAfter(running, batch.expired, batch.written);
  t.like(expired.context, { expiringAt: 15, finishedAt: 30, result: batch.written.result });
  t.like(batchAfter(running, batch.ended).context, { finalizingAt: 20 });
  t.like(batchAfter(running, batch.cancelled, batch.written).context, {
    cancellingAt: 16,
    finalizingAt: null,
  });
  t.is(batchAfter(running, batch.ended, batch.reopened).context.finalizingAt, null);
});
