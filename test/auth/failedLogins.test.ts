import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import { FailedLogins, type Refusal } from '../../src/auth/failedLogins.ts';
import { networkOf } from '../../src/lib/clientAddress.ts';

function setup(perMinute: number, windowSeconds?: number) {
  const refusals: Refusal[] = [];
  const options = { perMinute: () => perMinute, onRefused: (one: Refusal) => refusals.push(one) };
  return {
    refusals,
    logins: new FailedLogins(windowSeconds === undefined ? options : { ...options, windowSeconds }),
  };
}

test('an address may fail so often; after that it is told how long to wait, and its first time too many is marked', async (t) => {
  const { logins, refusals } = setup(2);
  t.is(await logins.count('192.0.2.1'), 0);
  t.is(await logins.count('192.0.2.1'), 0);
  const waitSeconds = await logins.count('192.0.2.1');
  t.true(waitSeconds >= 55 && waitSeconds <= 60, String(waitSeconds));
  await logins.count('192.0.2.1');
  t.is(await logins.count('192.0.2.2'), 0, 'another address has its own count');
  t.deepEqual(
    refusals.map(({ isLimited, isFirst }) => [isLimited, isFirst]),
    [
      [false, false],
      [false, false],
      [true, true],
      [true, false],
      [false, false],
    ],
  );
});

test('who has waited as long as told may try again', async (t) => {
  const { logins } = setup(1, 1);
  t.is(await logins.count('192.0.2.1'), 0);
  const waitSeconds = await logins.count('192.0.2.1');
  t.is(waitSeconds, 1);
  // The library has a clock of its own.
  await delay(waitSeconds * 1000 + 50);
  t.is(await logins.count('192.0.2.1'), 0);
});

test('with 0 nothing is counted or remembered', async (t) => {
  const { logins } = setup(0);
  for (let i = 0; i < 1000; i += 1) t.is(await logins.count('192.0.2.1'), 0);
  t.is(logins.size, 0);
});

test('a flood from any number of addresses is remembered of 10,000', async (t) => {
  const { logins } = setup(1);
  for (let i = 0; i < 10_500; i += 1) await logins.count(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
  t.is(logins.size, 10_000);
  t.true((await logins.count('10.0.41.3')) > 0, 'the newest are counted');
  t.is(await logins.count('10.0.0.0'), 0, 'the oldest was forgotten');
});

test('one host is one source, however many addresses it has', (t) => {
  t.is(networkOf('192.0.2.1'), '192.0.2.1');
  t.is(networkOf('::ffff:192.0.2.1'), '192.0.2.1');
  t.is(networkOf('2001:db8:1:2:3:4:5:6'), networkOf('2001:db8:1:2::9'));
  t.not(networkOf('2001:db8:1:2::1'), networkOf('2001:db8:1:3::1'));
  t.is(networkOf('2001:db8::1'), '2001:db8:0:0');
  t.is(networkOf('::1'), '0:0:0:0');
  t.is(networkOf(''), '');
});
