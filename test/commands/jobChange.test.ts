import test from 'ava';
import type { DispatchBody } from '../../src/domain/wire/job.ts';
import { adminKey } from '../support/process.ts';
import { startHere } from '../support/service.ts';
import { svc } from './cli.ts';

/** The real command line against a real coordinator without workers. */
async function setup(t: Parameters<typeof startHere>[0]) {
  const { url, client } = await startHere(t);
  const dispatch = async (count: number, fields: Partial<DispatchBody>) =>
    client.dispatchBatch(Array.from({ length: count }, () => ({ prompt: 'x', provider: 'none', ...fields })));
  const run = (...args: string[]) =>
    svc(t, ['jobs', ...args, '--url', url], { env: { SVC_API_KEY: adminKey } });
  return { client, dispatch, run };
}

test('jobs are cancelled by filters, more than one request of them, and no others', async (t) => {
  const { client, dispatch, run } = await setup(t);
  await dispatch(1_200, { metadata: { customer: 'acme' }, tags: ['a'] });
  await dispatch(3, { metadata: { customer: 'other' }, tags: ['a'] });
  const chosen = ['--metadata', 'customer=acme', '--since', '2h'];
  const dry = await run('cancel', ...chosen, '--dry-run');
  t.is(dry.stdout, '1200 jobs would be cancelled\n', dry.stderr);
  t.is((await client.jobs({ status: 'pending', limit: 1 })).total, 1_203);
  t.is((await run('cancel', ...chosen)).stdout, '1200 jobs cancelled\n');
  t.is((await client.jobs({ status: 'pending', limit: 1 })).total, 3);
  t.is((await run('cancel', ...chosen)).stdout, '0 jobs cancelled\n');
  t.deepEqual(JSON.parse((await run('cancel', '--tag', 'a', '--json')).stdout), { changed: 3, refused: 0 });
});

test('ids or filters are needed, one of the two', async (t) => {
  const { run, dispatch } = await setup(t);
  const { jobs } = await dispatch(1, {});
  for (const args of [[], [jobs[0]?.id ?? '', '--tag', 'a'], ['--metadata', 'novalue']]) {
    const { code, stderr } = await run('cancel', ...args);
    t.is(code, 2, stderr);
  }
  t.regex((await run('retry')).stderr, /give either ids or filters/);
});

test('metadata filters lists, bulk changes and exports, with several of them joined by and', async (t) => {
  const { client, dispatch, run } = await setup(t);
  await dispatch(2, { metadata: { customer: 'acme', run: '1' } });
  await dispatch(1, { metadata: { customer: 'acme', run: '2', odd: 'a=b' } });
  t.is((await client.jobs({ metadata: ['customer=acme'] })).total, 3);
  t.is((await client.jobs({ metadata: ['customer=acme', 'run=2'] })).total, 1);
  t.is((await client.jobs({ metadata: ['odd=a=b'] })).total, 1);
  t.is((await client.jobs({ metadata: ['constructor=x'] })).total, 0);
  await t.throwsAsync(client.jobs({ metadata: ['nothing'] }), { message: /metadata must be name=value/ });
  t.is((await run('export', '--metadata', 'run=1')).stdout.trim().split('\n').length, 2);
});
