import test, { type ExecutionContext } from 'ava';
import { adminKey } from '../support/process.ts';
import { startReceiver } from '../support/receiver.ts';
import { type Here, startHere } from '../support/service.ts';
import { type Ended, svc } from './cli.ts';

const config = { webhooks: { allow_http: true, allow_private: ['127.0.0.1'] } };

/** `svc webhooks …args` as the admin of this coordinator. */
function webhooks(t: ExecutionContext, { url }: Here, ...args: string[]): Promise<Ended> {
  return svc(t, ['webhooks', ...args, '--url', url], { env: { SVC_API_KEY: adminKey } });
}

test('a webhook is made, listed, changed, paused, tested, rotated and deleted', async (t) => {
  const here = await startHere(t, { config, workers: 1 });
  const receiver = await startReceiver(t);
  const made = await webhooks(t, here, 'create', 'ops', receiver.url, '--event', 'job.completed');
  t.is(made.code, 0);
  t.regex(made.stdout, /^whsec_\S{44}\n$/);
  t.false(made.stderr.includes(made.stdout.trim()));
  const list = await webhooks(t, here, 'list');
  t.regex(list.stdout, /ops .*enabled .*job\.completed/);
  t.is((await webhooks(t, here, 'test', 'ops')).code, 0);
  t.is(receiver.received.length, 1);
  await here.client.dispatch({ prompt: 'Hi', provider: 'echo' });
  await receiver.messages(2);
  t.regex((await webhooks(t, here, 'deliveries', 'ops')).stdout, /job\.completed/);
  t.regex((await webhooks(t, here, 'pause', 'ops')).stdout, /ops {2}paused/);
  t.regex((await webhooks(t, here, 'resume', 'ops')).stdout, /ops {2}enabled/);
  const changed = await webhooks(t, here, 'change', 'ops', '--no-event', '--tag', 'a', '--json');
  t.like(JSON.parse(changed.stdout), { events: null, tags: ['a'], url: receiver.url });
  const rotated = await webhooks(t, here, 'rotate', 'ops');
  t.not(rotated.stdout, made.stdout);
  t.regex((await webhooks(t, here, 'show', 'ops')).stdout, /old secret +in /);
  const { deliveries } = await here.client.webhookDeliveries('ops');
  const again = await webhooks(t, here, 'send', 'ops', deliveries[0]?.id ?? '');
  t.is(again.code, 0);
  await receiver.messages(3);
  t.is((await webhooks(t, here, 'delete', 'ops')).code, 0);
  t.deepEqual((await here.client.webhooks()).webhooks, []);
});

test('what is wrong with a webhook is said, with what to do', async (t) => {
  const here = await startHere(t, { config });
  const local = await webhooks(t, here, 'create', 'a', 'http://10.0.0.1/');
  t.is(local.code, 2);
  t.regex(local.stderr, /webhooks\.allow_private/);
  t.is((await webhooks(t, here, 'create', 'a', 'http://127.0.0.1/', '--event', 'job.started')).code, 2);
  const both = ['--only-named', '--event', 'job.failed'];
  t.is((await webhooks(t, here, 'create', 'a', 'http://127.0.0.1/', ...both)).code, 2);
  t.is((await webhooks(t, here, 'change', 'a')).code, 2);
  t.is((await webhooks(t, here, 'show', 'a')).code, 5);
  await webhooks(t, here, 'create', 'dead', 'http://127.0.0.1:1/');
  const failed = await webhooks(t, here, 'test', 'dead');
  t.is(failed.code, 1);
  t.regex(failed.stderr, /the connection was refused/);
});
