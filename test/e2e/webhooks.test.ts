import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { adminKey, startCoordinator, until } from '../support/process.ts';
import { startReceiver } from '../support/receiver.ts';

const jobsCount = 20;

test('what ended before a kill -9 is sent after the restart: none is lost, none is made up', async (t) => {
  let isOpen = false;
  // Before the kill it takes everything and answers nothing.
  const receiver = await startReceiver(t, (response) => {
    if (isOpen) response.writeHead(204).end();
  });
  const first = await startCoordinator(t, {
    args: ['--with-echo-worker'],
    config: { webhooks: { allow_http: true, allow_private: ['127.0.0.1'] } },
  });
  const made = await fetch(`${first.url}/api/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'ops', url: receiver.url, events: ['job.completed'] }),
  });
  t.is(made.status, 201);
  const { secret } = (await made.json()) as { secret: string };
  const jobs = await Promise.all(
    Array.from({ length: jobsCount }, () => first.client.dispatch({ prompt: 'Hi', provider: 'echo' })),
  );
  for (const { id } of jobs) await first.client.job(id, { waitSeconds: 20 });
  await receiver.messages(1);
  await first.process.kill();
  isOpen = true;
  const before = receiver.received.length;
  const second = await first.again();
  const idOf = (body: string): string => (JSON.parse(body) as { data: { id: string } }).data.id;
  const told = () => new Set(receiver.received.slice(before).map(({ body }) => idOf(body)));
  await until('a message for each job', () => told().size >= jobsCount);
  t.deepEqual([...told()].sort(), jobs.map(({ id }) => id).sort());
  const verifier = new Webhook(secret);
  for (const { body, headers } of receiver.received)
    t.notThrows(() => verifier.verify(body, headers as Record<string, string>));
  // One event a job: what was sent twice has the same id.
  t.is(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, jobsCount);
  // And once they have arrived they are not sent again.
  await until('nothing waits', async () => {
    const answer = await fetch(`${second.url}/api/webhooks/ops`, {
      headers: { authorization: `Bearer ${adminKey}` },
    });
    return ((await answer.json()) as { pending: number }).pending === 0;
  });
  await second.process.kill();
  const sent = receiver.received.length;
  const third = await second.again();
  await third.client.job((await third.client.dispatch({ prompt: 'Hi', provider: 'echo' })).id, {
    waitSeconds: 20,
  });
  await receiver.messages(sent + 1);
  t.is(receiver.received.length, sent + 1);
});
