import test from 'ava';
import type { WireQueue } from '../../src/domain/wire/queue.ts';
import { problem, serve } from '../client/server.ts';
import { adminKey } from '../support/process.ts';
import { startHere } from '../support/service.ts';
import { svc } from './cli.ts';

test('the queue is paused and resumed, with the reason for people and the JSON of the API', async (t) => {
  const { url, client } = await startHere(t);
  const run = (...args: string[]) => svc(t, [...args, '--url', url], { env: { SVC_API_KEY: adminKey } });
  const paused = await run('pause', '--reason', 'new \u001b[31mprices');
  t.is(paused.code, 0, paused.stderr);
  t.regex(paused.stdout, /^The queue is paused( by \S+)?: new \S*prices \(.+\)\n$/);
  t.false(paused.stdout.includes('\u001b'));
  const again: WireQueue = JSON.parse((await run('pause', '--reason', 'another', '--json')).stdout);
  t.like(again, { paused: true, reason: 'new \u001b[31mprices' });
  t.deepEqual((await client.stats()).queue, again);
  t.regex((await run('doctor')).stdout, /Queue +The queue is paused.*; jobs wait/);
  const { id } = await client.dispatch({ prompt: 'p', provider: 'echo' });
  t.is((await client.job(id)).waiting?.reason, 'queue_paused');

  t.is((await run('resume')).stdout, 'The queue is not paused\n');
  const resumed: WireQueue = JSON.parse((await run('resume', '--json')).stdout);
  t.like(resumed, { paused: false, reason: null });
  t.not((await client.job(id)).waiting?.reason, 'queue_paused');

  const { key } = await client.createKey({ role: 'client' });
  const refused = await svc(t, ['pause', '--url', url], { env: { SVC_API_KEY: key } });
  t.is(refused.code, 4);
});

test('a reason that is too long is refused with what the coordinator says of it', async (t) => {
  const { url } = await serve(t, () =>
    problem(400, 'invalid_request', 'reason must be at most 500 characters'),
  );
  const { code, stderr } = await svc(t, ['pause', '--reason', 'x'.repeat(501), '--url', url]);
  t.is(code, 2);
  t.regex(stderr, /at most 500 characters/);
});

test('the help of both has examples', async (t) => {
  for (const name of ['pause', 'resume']) {
    const { code, stdout } = await svc(t, [name, '--help']);
    t.is(code, 0);
    t.regex(stdout, new RegExp(`Examples:\\n +svc ${name}`));
  }
});
