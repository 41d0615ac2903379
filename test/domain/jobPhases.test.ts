import test from 'ava';
import type { WireAttempt } from '../../src/domain/wire/job.ts';
import { phasesOf, waitedMs } from '../../src/domain/wire/jobPhases.ts';

const at = (seconds: number) => new Date(1_800_000_000_000 + seconds * 1000).toISOString();
const ms = (seconds: number) => 1_800_000_000_000 + seconds * 1000;

const attempt = (
  number: number,
  from: number,
  to: number | null,
  outcome: WireAttempt['outcome'],
): WireAttempt => ({
  number,
  lease: number,
  worker_id: 'w',
  provider: 'echo',
  model: null,
  started_at: at(from),
  finished_at: to === null ? null : at(to),
  outcome,
  error: null,
  usage: null,
  cost_usd: null,
  cost_status: 'none',
});

test("a job's life is told in waits and attempts that follow one another", (t) => {
  const attempts = [attempt(1, 5, 8, 'failed'), attempt(2, 10, 14, 'completed')];
  const life = phasesOf({ created_at: at(0), finished_at: at(14), status: 'completed', attempts }, ms(99));
  t.deepEqual(
    life.map(({ kind, from, to, isOpen }) => [kind, (from - ms(0)) / 1000, (to - ms(0)) / 1000, isOpen]),
    [
      ['wait', 0, 5, false],
      ['attempt', 5, 8, false],
      ['wait', 8, 10, false],
      ['attempt', 10, 14, false],
    ],
  );
  t.is(waitedMs(life), 7_000);
});

test('what goes on ends now, and a wait after the last attempt is one too', (t) => {
  const running = phasesOf(
    { created_at: at(0), finished_at: null, status: 'running', attempts: [attempt(1, 1, null, null)] },
    ms(4),
  );
  t.like(running.at(-1), { kind: 'attempt', to: ms(4), isOpen: true });
  const again = phasesOf(
    { created_at: at(0), finished_at: null, status: 'pending', attempts: [attempt(1, 1, 2, 'rate_limited')] },
    ms(9),
  );
  t.like(again.at(-1), { kind: 'wait', from: ms(2), to: ms(9), isOpen: true });
});

test('a job that is cancelled while it waits has waited until then', (t) => {
  const never = phasesOf({ created_at: at(0), finished_at: at(3), status: 'cancelled', attempts: [] }, ms(9));
  t.deepEqual(never, [{ kind: 'wait', from: ms(0), to: ms(3), isOpen: false, attempt: null }]);
});
