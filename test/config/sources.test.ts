import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { ConfigError, loadConfig } from '../../src/config/load.ts';
import { folderWith, load, problemsOf } from './folder.ts';

test('a flag goes before the environment, the environment before the file, the file before the default', async (t) => {
  const { config, sources } = await load(t, 'host: file\nport: 1\nlog: { level: warn }', {
    env: { SVC_HOST: 'environment', SVC_PORT: '2', SVC_DATA_DIR: '/env' },
    overrides: { host: 'flag' },
  });

  t.deepEqual([config.host, config.port, config.store.path, config.log.level], ['flag', 2, '/env', 'warn']);
  t.like(sources, {
    host: 'flag',
    port: 'environment',
    'store.path': 'environment',
    'log.level': 'file',
    'jobs.timeout_seconds': 'default',
    'jobs.priorities.normal': 'default',
    providers: 'default',
  });
});

test('sources name every value, also behind names with dots', async (t) => {
  const { sources } = await load(
    t,
    'pricing: { openai: { gpt-4.1: { input_per_million: 1, output_per_million: 2 } } }',
  );
  t.is(sources['pricing.openai["gpt-4.1"].input_per_million'], 'file');
  t.is(sources['pricing.openai["gpt-4.1"].cached_input_per_million'], 'default');
});

test('flags and variables are checked like the file, all at once', async (t) => {
  const env = { SVC_PORT: 'http', SVC_LOG_LEVEL: 'loud', SVC_API_KEY: 'short' };
  t.deepEqual(await problemsOf(t, 'prot: 1', { env, overrides: { port: '70000' } }), [
    'svc.config.yaml:1: prot: unknown key, did you mean port?',
    '--port: must be a whole number from 0 to 65535, not "70000"',
    'SVC_LOG_LEVEL: must be one of trace, debug, info, warn, error, silent, not "loud"',
    'SVC_API_KEY: must have at least 16 characters, it has 5',
  ]);
});

test('a variable that is set to nothing is not set', async (t) => {
  const { config, apiKey } = await load(t, '', { env: { SVC_PORT: '', SVC_API_KEY: '', SVC_CONFIG: '' } });
  t.is(config.port, 7420);
  t.is(apiKey, null);
});

test('the key of the environment is handed over beside the configuration', async (t) => {
  const { apiKey, config } = await load(t, '', { env: { SVC_API_KEY: '0123456789abcdef' } });
  t.is(apiKey, '0123456789abcdef');
  t.notRegex(JSON.stringify(config), /0123456789abcdef/);
});

test('a key that no header can carry is refused without being shown', async (t) => {
  const [line] = await problemsOf(t, '', { env: { SVC_API_KEY: 'a secret with spaces' } });
  t.is(line, 'SVC_API_KEY: must be made of printable ASCII characters without spaces');
});

test('--config goes before SVC_CONFIG, and SVC_CONFIG before the file of the folder', async (t) => {
  const cwd = await folderWith(t, {
    'svc.config.yaml': 'port: 1',
    'env.yaml': 'port: 2',
    'flag.json': '{"port": 3}',
  });
  const env = { SVC_CONFIG: 'env.yaml' };
  t.is((await loadConfig({ env: {}, cwd })).config.port, 1);
  t.is((await loadConfig({ env, cwd })).config.port, 2);
  const loaded = await loadConfig({ env, cwd, file: 'flag.json' });
  t.is(loaded.config.port, 3);
  t.is(loaded.file, join(cwd, 'flag.json'));
});

test('of several files in the folder the first is read and the others are named', async (t) => {
  const cwd = await folderWith(t, { 'svc.config.yml': 'port: 1', 'svc.config.json': '{"port": 2}' });
  const { config, warnings } = await loadConfig({ env: {}, cwd });
  t.is(config.port, 1);
  t.deepEqual(warnings, ['svc.config.json: not read, because svc.config.yml is here too']);
});

test('a file that is named must be there', async (t) => {
  const cwd = await folderWith(t);
  const byFlag = loadConfig({ env: {}, cwd, file: 'nope.yaml' });
  await t.throwsAsync(byFlag, {
    instanceOf: ConfigError,
    message: 'nope.yaml: no such file',
  });
  const byEnvironment = loadConfig({ env: { SVC_CONFIG: '/nowhere/x.yaml' }, cwd });
  await t.throwsAsync(byEnvironment, { message: '/nowhere/x.yaml: no such file (named by SVC_CONFIG)' });
});

test('a folder is no configuration file', async (t) => {
  const cwd = await folderWith(t);
  await mkdir(join(cwd, 'conf'));
  await t.throwsAsync(loadConfig({ env: {}, cwd, file: 'conf' }), {
    message: 'conf: is a folder, not a file',
  });
});

test('relative data folders start at the working folder, wherever they are named', async (t) => {
  const cwd = await folderWith(t, { 'svc.config.yaml': 'store: { path: here }' });
  t.is((await loadConfig({ env: {}, cwd })).config.store.path, join(cwd, 'here'));
  t.is((await loadConfig({ env: { SVC_DATA_DIR: 'env' }, cwd })).config.store.path, join(cwd, 'env'));
  t.is(
    (await loadConfig({ env: {}, cwd, overrides: { dataDir: 'flag' } })).config.store.path,
    join(cwd, 'flag'),
  );
});

test('a variable that is likely a misspelt one is told, and none that only begins alike', async (t) => {
  const cwd = await folderWith(t, {});
  const kubernetes = { SVC_SERVICE_HOST: '10.0.0.1', SVC_PORT_7420_TCP: 'tcp://10.0.0.1:7420', PATH: '/bin' };
  const typos = { SVC_PROT: '1', SVC_COORDINATOR: 'http://a.example', svc_api_key: 'x' };
  const { warnings } = await loadConfig({ env: { ...kubernetes, ...typos, SVC_HOST: '127.0.0.1' }, cwd });
  t.deepEqual(warnings, [
    'SVC_PROT: is not read; did you mean SVC_PORT?',
    'SVC_COORDINATOR: is not read; did you mean SVC_COORDINATOR_URL?',
    'svc_api_key: is not read; did you mean SVC_API_KEY?',
  ]);
});
