import test from 'ava';
import { startReceiver } from '../../support/receiver.ts';
import { begun, inState, linesOf } from './batches.ts';
import { openAiHere } from './support.ts';

test('the end of a batch, and of a response, is a webhook that the SDK unwraps', async (t) => {
  const receiver = await startReceiver(t);
  const config = { webhooks: { allow_http: true, allow_private: ['127.0.0.1'] } };
  const { openai, client } = await openAiHere(t, { config });
  const events = ['response.completed', 'response.incomplete'] as const;
  const { secret } = await client.createWebhook({ name: 'app', url: receiver.url, events: [...events] });
  const unwrapped = (index: number) => {
    const { body = '', headers = {} } = receiver.received[index] ?? {};
    return openai.webhooks.unwrap(body, headers as Record<string, string>, secret);
  };
  // Without a name it is not one of the events.
  await inState(openai, await begun(openai, linesOf(2)));
  const batch = await begun(openai, linesOf(3), { webhook: 'app' });
  await inState(openai, batch);
  await receiver.messages(1);
  const completed = await unwrapped(0);
  t.like(completed, { object: 'event', type: 'batch.completed', data: { id: batch.id } });
  t.is((await openai.batches.retrieve(batch.id)).status, 'completed');
  const response = await openai.responses.create({ model: 'echo', input: 'Hi', background: true });
  await receiver.messages(2);
  t.like(await unwrapped(1), { type: 'response.completed', data: { id: response.id } });
  t.is((await openai.responses.retrieve(response.id)).status, 'completed');
  for (const webhook of ['nobody', 'https://evil.example/', '', 7])
    t.like(await t.throwsAsync(begun(openai, linesOf(1), { webhook })), { status: 400, param: 'webhook' });
  const metrics = await fetch(`${client.baseUrl}/metrics`, {
    headers: { authorization: `Bearer ${openai.apiKey}` },
  });
  const text = await metrics.text();
  t.regex(text, /^svc_webhook_pending \d/m);
  t.regex(text, /^svc_webhook_deliveries_total\{outcome="dropped"\} 0$/m);
});
