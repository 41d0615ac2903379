import test from 'ava';
import { seenOf, withInspected } from '../../src/dashboard/pages/machines/inspection.ts';
import type { WireInspected } from '../../src/domain/wire/machine.ts';

const at = (second: number) => new Date(Date.UTC(2026, 10, 21, 9, 0, second)).toISOString();

function eventOf(second: number, actor_id: string, to: string): WireInspected {
  return {
    at: at(second),
    machine: 'job',
    actor_id,
    event: { type: 'job.due' },
    from: null,
    to,
    context: {},
  };
}

const first = seenOf({
  enabled: true,
  actors: [{ machine: 'job', actor_id: 'a', state: 'pending.ready', event_count: 4, updated_at: at(1) }],
  events: [eventOf(0, 'a', 'pending.delayed'), eventOf(1, 'a', 'pending.ready')],
});

test('the newest event and the newest actor stand first', (t) => {
  const seen = withInspected(first, [eventOf(2, 'b', 'failed'), eventOf(3, 'a', 'running.active')]);
  t.deepEqual(
    seen.events.map(({ to, place }) => [to, place]),
    [
      ['running.active', 3],
      ['failed', 2],
      ['pending.ready', 1],
      ['pending.delayed', 0],
    ],
  );
  t.deepEqual(
    seen.actors.map(({ actor_id, state, event_count }) => [actor_id, state, event_count]),
    [
      ['a', 'running.active', 5],
      ['b', 'failed', 1],
    ],
  );
});

test('a page remembers no more than the coordinator, and every event keeps its number', (t) => {
  const many = Array.from({ length: 1_000 }, (_, index) => eventOf(index % 60, `${index}`, 'failed'));
  const seen = withInspected(first, many);
  t.is(seen.actors.length, 200);
  t.is(seen.events.length, 300);
  t.is(new Set(seen.events.map(({ place }) => place)).size, 300);
  t.is(seen.events[0]?.place, 1_001);
});
