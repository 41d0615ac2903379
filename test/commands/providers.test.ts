import test from 'ava';
import type { WireProvider, WireProviderList } from '../../src/domain/wire/provider.ts';
import { adminKey, until } from '../support/process.ts';
import { startHere } from '../support/service.ts';
import { svc } from './cli.ts';

test('providers are listed, and one that is limited is sent to again after a reset', async (t) => {
  const rateLimit = { max_concurrent: 3, retry_after_seconds: 600, retry_after_max_seconds: 3600 };
  const { url, client } = await startHere(t, {
    config: { providers: { echo: { rate_limit: rateLimit } } },
    workers: 1,
  });
  const run = (...args: string[]) =>
    svc(t, ['providers', ...args, '--url', url], { env: { SVC_API_KEY: adminKey } });
  await client.dispatch({
    prompt: 'p',
    provider: 'echo',
    params: { echo_fail: { class: 'rate_limited', retry_after_seconds: 1200 } },
  });
  await until('echo is limited', async () => {
    return (await client.providers()).providers.some(({ status }) => status === 'limited');
  });

  const list = await run('list');
  t.is(list.code, 0);
  const [header = '', row = ''] = list.stdout.split('\n');
  t.regex(header, /^NAME +STATUS +ENDS +RUNS +WORKERS +FREE +LATENCY +MODELS$/);
  // The wait is lengthened by up to a tenth, so that all who were refused do not come back at once.
  t.regex(row, /^echo +limited +in (19|20|21|22) min +0\/3 +1 +\d+\/\d+ /);
  const { providers }: WireProviderList = JSON.parse((await run('list', '--json')).stdout);
  t.deepEqual(
    providers.map(({ name, status }) => [name, status]),
    [['echo', 'limited']],
  );

  // The job that met the limit may go out again at once and meet it anew: what the reset itself answered is looked at.
  const reset = await run('reset', 'echo');
  t.is(reset.code, 0);
  t.is(reset.stdout, 'echo  available\n');
  const again: WireProvider = JSON.parse((await run('reset', 'echo', '--json')).stdout);
  t.like(again, { name: 'echo', status: 'available', until: null });
});

test('a provider whose attempts failed is listed with what stopped it', async (t) => {
  const { url, client } = await startHere(t, {
    config: {
      jobs: { max_attempts: 1 },
      providers: { echo: { breaker: { minimum: 1, open_seconds: 600 } } },
    },
    workers: 1,
  });
  const { id } = await client.dispatch({
    prompt: 'p',
    provider: 'echo',
    params: { echo_fail: 'server_error' },
  });
  await client.waitFor(id);
  const { stdout } = await svc(t, ['providers', 'list', '--url', url], { env: { SVC_API_KEY: adminKey } });
  t.regex(stdout, /MODELS +STOPPED BY\n/);
  t.regex(stdout, /^echo +open .*\(server_error\)$/m);
});

test('a provider that nobody knows is refused with 5 and the nearest name; a viewer may not reset', async (t) => {
  const { url, client } = await startHere(t, { config: { providers: { openai: {} } } });
  const unknown = await svc(t, ['providers', 'reset', 'opnai', '--url', url], {
    env: { SVC_API_KEY: adminKey },
  });
  t.is(unknown.code, 5);
  t.regex(unknown.stderr, /There is no provider opnai; did you mean openai\?/);

  const { key } = await client.createKey({ role: 'viewer' });
  const viewer = { env: { SVC_API_KEY: key } };
  t.is((await svc(t, ['providers', 'list', '--url', url], viewer)).code, 0);
  t.is((await svc(t, ['providers', 'reset', 'openai', '--url', url], viewer)).code, 4);
});
