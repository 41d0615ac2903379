import test from 'ava';
import { ApiKeys } from '../../src/worker/apiKeys.ts';

test('environment, file and remote configuration come in this order', (t) => {
  const keys = new ApiKeys(['env', 'file']);
  keys.setRemote('remote');
  t.is(keys.take(), 'env');
  t.is(new ApiKeys([null, 'file']).best, 'file');
  const none = new ApiKeys([null, null]);
  t.is(none.best, null);
  none.setRemote('remote');
  t.is(none.best, 'remote');
});

test('a refused key is passed over while there is one that is not refused', (t) => {
  const keys = new ApiKeys(['env', null]);
  keys.setRemote('new');
  t.is(keys.take(), 'env');
  t.true(keys.refused());
  t.is(keys.take(), 'new');
});

test('a remote key that comes after the refusal is a way out, once', (t) => {
  const keys = new ApiKeys(['env']);
  keys.take();
  t.false(keys.refused());
  t.false(keys.setRemote('env'), 'the very key that was refused is none');
  t.true(keys.setRemote('new'));
  t.false(keys.setRemote('new'));
  t.is(keys.take(), 'new');
  t.false(keys.setRemote('newer'), 'the one in use is not refused');
});

test('a remote key that is rotated again is followed', (t) => {
  const keys = new ApiKeys(['env']);
  keys.setRemote('second');
  keys.take();
  keys.refused();
  keys.take();
  t.false(keys.refused());
  t.true(keys.setRemote('third'));
  t.is(keys.take(), 'third');
});

test('when all are refused they are tried in turn, so that one that was refused by mistake is found again', (t) => {
  const keys = new ApiKeys(['env', 'file']);
  keys.setRemote('remote');
  const tried = Array.from({ length: 7 }, () => {
    const key = keys.take();
    keys.refused();
    return key;
  });
  t.deepEqual(tried, ['env', 'file', 'remote', 'env', 'file', 'remote', 'env']);
});

test('no key is an empty one, which nobody takes', (t) => {
  const keys = new ApiKeys([]);
  t.is(keys.take(), '');
  t.false(keys.refused());
});

test('own keys that have changed are tried, also one that was refused before', (t) => {
  const keys = new ApiKeys(['first']);
  keys.take();
  t.false(keys.setOwn(['first', null]), 'nothing has changed');
  t.true(keys.setOwn(['second']));
  t.is(keys.take(), 'second');
  keys.refused();
  t.true(keys.setOwn(['first']));
  t.is(keys.take(), 'first');
  t.true(keys.setOwn(['second']), 'it may have been made valid');
  t.is(keys.take(), 'second');
});
