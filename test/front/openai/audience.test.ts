import test from 'ava';
import { Audience, returnMs } from '../../../src/front/openai/audience.ts';
import { FakeClock } from '../../support/fakeClock.ts';

function setup() {
  const clock = new FakeClock();
  const audience = new Audience();
  const left: boolean[] = [];
  const enter = (options: { isKeyed?: boolean; outlivesClient?: boolean } = {}) => {
    const client = new AbortController();
    const leave = audience.enter('job', {
      gone: client.signal,
      isKeyed: false,
      outlivesClient: false,
      clock,
      onLeft: (outlivesClients) => left.push(outlivesClients),
      ...options,
    });
    return { leave, hangUp: () => client.abort() };
  };
  return { clock, left, enter };
}

test('the last client that hangs up is reported at once, and one that leaves with its answer is not', (t) => {
  const { left, enter } = setup();
  const [first, second] = [enter(), enter()];
  first.hangUp();
  t.deepEqual(left, []);
  second.hangUp();
  second.leave();
  t.deepEqual(left, [false]);
  enter().leave();
  t.deepEqual(left, [false]);
});

test('what one client asked for holds for the job, whoever leaves last', (t) => {
  const { left, enter } = setup();
  const [first, second] = [enter({ isKeyed: true, outlivesClient: true }), enter({ isKeyed: true })];
  first.hangUp();
  second.hangUp();
  t.deepEqual(left, [true]);
});

test('a client with an idempotency key has half a minute to come back', (t) => {
  const { clock, left, enter } = setup();
  enter({ isKeyed: true }).hangUp();
  clock.advance(returnMs - 1);
  const again = enter({ isKeyed: true });
  clock.advance(returnMs);
  t.deepEqual(left, []);
  again.hangUp();
  clock.advance(returnMs - 1);
  t.deepEqual(left, []);
  clock.advance(1);
  t.deepEqual(left, [false]);
  clock.advance(returnMs);
  t.deepEqual(left, [false]);
});
