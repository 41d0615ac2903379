import test from 'ava';
import type { CoordinatorError } from '../../src/domain/errors.ts';
import { Uploads } from '../../src/http/uploads.ts';
import { noFigures } from '../../src/lib/boundFigures.ts';
import { testConfig } from '../support/config.ts';
import { FakeClock } from '../support/fakeClock.ts';

const mebibyte = 1024 ** 2;
const key = (keyId: string) => ({ keyId, isPrivileged: false });

function setup(heapBytes: number, bodyMemoryBytes = 256 * mebibyte) {
  const clock = new FakeClock();
  const http = { ...testConfig().http, bodyMemoryBytes };
  return { clock, uploads: new Uploads({ http: () => http, clock, figures: noFigures, heapBytes }) };
}

test('a quarter of a small heap is all that bodies may have', (t) => {
  const { uploads } = setup(512 * mebibyte);
  const upload = uploads.begin(key('a'), () => {});
  upload.announce(64 * mebibyte);
  t.throws(() => upload.announce(64 * mebibyte + 1), { message: /memory that this key may have for bodies/ });
  uploads.begin({ keyId: 'o', isPrivileged: true }, () => {}).announce(128 * mebibyte);
});

test('large bodies are parsed one after the other where the heap is small, and small ones do not wait for them', async (t) => {
  const { uploads } = setup(512 * mebibyte);
  const body = (bytes: number, owner: string) => {
    const upload = uploads.begin(key(owner), () => {});
    upload.take(bytes);
    return upload;
  };
  const first = body(50 * mebibyte, 'a');
  const second = body(40 * mebibyte, 'b');
  const third = body(1.5 * mebibyte, 'c');
  t.is(first.whole(), null);
  const order: string[] = [];
  const waiting = [second, third].map((upload, n) => upload.whole()?.then(() => order.push(`${n}`)));
  t.is(body(1000, 'd').whole(), null);
  await Promise.resolve();
  t.deepEqual(order, []);
  first.release();
  await waiting[0];
  t.deepEqual(order, ['0']);
  second.release();
  await waiting[1];
  third.release();
  third.release();
  t.is(uploads.held, 1000);
});

test('of those that stall the one that holds most goes first, and one that moves never', (t) => {
  const { uploads, clock } = setup(2 ** 31, 80 * mebibyte);
  const cuts: string[] = [];
  const begin = (name: string, bytes: number) => {
    const upload = uploads.begin(key(name), (error: CoordinatorError) => cuts.push(`${name} ${error.code}`));
    upload.moved += bytes;
    upload.take(bytes);
    return upload;
  };
  begin('small', mebibyte);
  begin('large', 30 * mebibyte);
  const moving = begin('moving', 30 * mebibyte);
  for (let second = 0; second < 8; second += 1) {
    clock.advance(1_000);
    moving.moved += mebibyte;
  }
  begin('new', 20 * mebibyte);
  t.deepEqual(cuts, ['large request_timeout']);
  t.is(uploads.held, 51 * mebibyte);
  begin('newer', 19.5 * mebibyte);
  t.deepEqual(cuts, ['large request_timeout', 'small request_timeout']);
  // Those that are left move, or have just begun.
  const late = uploads.begin(key('late'), () => {});
  t.throws(() => late.take(10 * mebibyte), { message: /fill the memory/ });
});

test('a body needs its least rate in every span of ten seconds, and one that is whole does not', (t) => {
  const { uploads, clock } = setup(2 ** 31);
  const cuts: string[] = [];
  const [slow, steady, whole] = ['slow', 'steady', 'whole'].map((name) =>
    uploads.begin(key(name), () => cuts.push(name)),
  );
  whole?.whole();
  for (let second = 0; second < 60; second += 1) {
    if (slow !== undefined && second < 15) slow.moved += 5_000;
    if (steady !== undefined) steady.moved += 1_100;
    clock.advance(1_000);
    if (second === 19) t.deepEqual(cuts, []);
  }
  t.deepEqual(cuts, ['slow']);
});

test('a body that is not read for a while is not taken for a slow one', (t) => {
  const { uploads, clock } = setup(2 ** 31);
  const cuts: string[] = [];
  let isHeldUp = true;
  const upload = uploads.begin(
    key('a'),
    (error) => cuts.push(error.code),
    () => isHeldUp,
  );
  clock.advance(60_000);
  t.deepEqual(cuts, []);
  isHeldUp = false;
  upload.moved += 1024 ** 2;
  clock.advance(9_000);
  isHeldUp = true;
  clock.advance(1_000);
  isHeldUp = false;
  clock.advance(9_000);
  t.deepEqual(cuts, []);
  clock.advance(2_000);
  t.deepEqual(cuts, ['request_timeout']);
});
