import test from 'ava';
import { resolveSettings } from '../../src/worker/settings.ts';

const given = { apiKey: 'k', providers: ['echo'] };

test('a flag goes before the environment, that before the file, that before the default', (t) => {
  const flags = { name: 'flag', providers: [], tags: [], concurrency: null, coordinator: null };
  const env = { apiKey: 'env-key', coordinator: 'http://env:1' };
  const file = {
    name: 'file',
    providers: ['echo'],
    tags: ['gpu'],
    concurrency: 3,
    coordinator: 'http://file:1',
    apiKey: 'f',
  };
  t.deepEqual(resolveSettings([flags, env, file], 'host'), {
    name: 'flag',
    providers: ['echo'],
    tags: ['gpu'],
    concurrency: 3,
    coordinator: 'http://env:1',
    apiKey: 'env-key',
  });
});

test('the defaults: the host name, the local coordinator, four slots for echo alone and one for anything else', (t) => {
  t.deepEqual(resolveSettings([given], 'box'), {
    name: 'box',
    providers: ['echo'],
    tags: [],
    concurrency: 4,
    coordinator: 'http://127.0.0.1:7420',
    apiKey: 'k',
  });
  t.is(resolveSettings([{ ...given, providers: ['echo', 'ollama'] }], 'box').concurrency, 1);
});

test('a concurrency of 0 is a setting, and a name given twice counts once', (t) => {
  const settings = resolveSettings([{ ...given, concurrency: 0, providers: ['echo', 'echo'] }], 'box');
  t.is(settings.concurrency, 0);
  t.deepEqual(settings.providers, ['echo']);
});

test('a missing key or provider is said with what to do', (t) => {
  t.throws(() => resolveSettings([{ providers: ['echo'] }, { apiKey: '' }], 'b'), {
    message: /SVC_API_KEY/,
  });
  t.throws(() => resolveSettings([{ apiKey: 'k' }], 'b'), { message: /--provider/ });
});
