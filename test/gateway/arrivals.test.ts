import test from 'ava';
import { Arrivals } from '../../src/gateway/arrivals.ts';
import { ReadGate } from '../../src/gateway/readGate.ts';
import { FakeClock } from '../support/fakeClock.ts';

const mebi = 1024 * 1024;

function setup() {
  const clock = new FakeClock();
  const arrivals = new Arrivals(clock);
  const connect = (keyId: string) => {
    const state = { isPaused: false, held: 0, isLate: false };
    const gate = new ReadGate({
      pause: () => {
        state.isPaused = true;
      },
      resume: () => {
        state.isPaused = false;
      },
    });
    const arrival = arrivals.connection({
      keyId,
      gate,
      onHeld: () => {
        state.held += 1;
      },
      onLate: () => {
        state.isLate = true;
      },
    });
    return { state, arrival };
  };
  return { clock, connect };
}

test('of one key four large frames arrive at once; the next waits, and another key does not', (t) => {
  const { connect } = setup();
  const of = Array.from({ length: 5 }, () => connect('greedy'));
  for (const { arrival } of of) arrival.arrived(2 * mebi);
  t.deepEqual(
    of.map(({ state }) => state.isPaused),
    [false, false, false, false, true],
  );
  t.is(of[4]?.state.held, 1);
  const other = connect('honest');
  other.arrival.arrived(16 * mebi);
  t.false(other.state.isPaused);
  of[0]?.arrival.ended();
  t.false(of[4]?.state.isPaused);
});

test('a frame that waits is read on when another has ended, also when that one was cut', (t) => {
  const { clock, connect } = setup();
  const eight = [...'aaaabbbb'].map((key) => connect(key));
  for (const { arrival } of eight) arrival.arrived(2 * mebi);
  const waits = connect('c');
  waits.arrival.arrived(2 * mebi);
  t.true(waits.state.isPaused);
  clock.advance(30_000);
  t.true(eight.every(({ state }) => state.isLate));
  t.false(waits.state.isLate, 'its time has not begun');
  eight[3]?.arrival.ended();
  t.false(waits.state.isPaused);
  clock.advance(30_000);
  t.true(waits.state.isLate);
});

test('small frames need no place, however many there are, and a whole one ends its time', (t) => {
  const { clock, connect } = setup();
  const many = Array.from({ length: 1_000 }, () => connect('k'));
  for (const { arrival } of many) arrival.arrived(64 * 1024);
  t.true(many.every(({ state }) => !state.isPaused));
  const one = connect('k');
  one.arrival.arrived(mebi);
  one.arrival.ended();
  clock.advance(60_000);
  t.false(one.state.isLate);
});
