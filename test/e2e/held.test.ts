import test from 'ava';
import type { Client } from '../../src/client/client.ts';
import { startCoordinator, startWorker, until } from '../support/process.ts';

/*
 * What holds jobs back is held by processes that are killed with -9: a pause of the queue, the limit of a provider and an
 * open circuit breaker.
 */

/** Some heartbeats: a job that may run has long been handed out by then. */
const whileMs = 2_000;

async function connected(client: Client): Promise<void> {
  await until('a worker is connected', async () =>
    (await client.workers()).workers.some((one) => one.connected),
  );
}

async function staysPending(client: Client, id: string): Promise<string | undefined> {
  await new Promise((resolve) => setTimeout(resolve, whileMs));
  const { status, waiting } = await client.job(id);
  return status === 'pending' ? waiting?.reason : status;
}

test('a queue that is paused stays so over kills, until it is resumed', async (t) => {
  const first = await startCoordinator(t);
  startWorker(t, first);
  await connected(first.client);
  const paused = await first.client.pauseQueue('maintenance');
  await first.process.kill();
  const second = await first.again();
  const { id } = await second.client.dispatch({ prompt: 'p', provider: 'echo' });
  await connected(second.client);
  t.is(await staysPending(second.client, id), 'queue_paused');
  t.deepEqual((await second.client.stats()).queue, paused);
  await second.client.resumeQueue();
  t.is((await second.client.waitFor(id)).status, 'completed');
  await second.process.kill();
  const third = await second.again();
  t.false((await third.client.stats()).queue.paused);
});

const held: [what: string, status: string, reason: string, config: object, echoFail: string][] = [
  [
    'a limit',
    'limited',
    'provider_limited',
    { rate_limit: { retry_after_seconds: 600, max_retries: 0, retry_after_max_seconds: 3600 } },
    'rate_limited',
  ],
  [
    'an open breaker',
    'open',
    'provider_open',
    { breaker: { minimum: 1, open_seconds: 600 } },
    'server_error',
  ],
];

for (const [what, status, reason, config, echoFail] of held) {
  test(`${what} of a provider stays over a kill, until it is reset`, async (t) => {
    const first = await startCoordinator(t, {
      // A worker that comes back later than 2.5 heartbeats counts as a new one, and has the provider probed.
      config: { jobs: { max_attempts: 1, heartbeat_interval_seconds: 10 }, providers: { echo: config } },
    });
    startWorker(t, first);
    await first.client.dispatch({ prompt: 'p', provider: 'echo', params: { echo_fail: echoFail } });
    const seen = async (client: Client) =>
      (await client.providers()).providers.find(({ name }) => name === 'echo');
    await until(`echo is ${status}`, async () => (await seen(first.client))?.status === status);
    const before = await seen(first.client);
    // A commit is a matter of milliseconds.
    await new Promise((resolve) => setTimeout(resolve, whileMs));
    await first.process.kill();
    const second = await first.again();
    await connected(second.client);
    const { id } = await second.client.dispatch({ prompt: 'p', provider: 'echo' });
    t.is(await staysPending(second.client, id), reason);
    t.like(await seen(second.client), { status, until: before?.until });
    await second.client.resetProvider('echo');
    await second.process.kill();
    const third = await second.again();
    t.is((await seen(third.client))?.status, 'available');
    t.is((await third.client.waitFor(id, { timeoutSeconds: 60 })).status, 'completed');
  });
}
