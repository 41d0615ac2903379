import test, { type ExecutionContext } from 'ava';
import { Outbox, WebhookBook } from '../../src/coordinator/webhooks/index.ts';
import { nobody } from '../../src/domain/audit.ts';
import type { Principal } from '../../src/domain/key.ts';
import { openBatches } from '../../src/front/openai/index.ts';
import { type Bundle, request, setup } from '../support/coordinator.ts';
import { HandSender } from '../support/handSender.ts';
import { until } from '../support/process.ts';

const url = 'https://hooks.example.com/named';
const otherUrl = 'https://hooks.example.com/other';
const ann: Principal = { keyId: 'k1', name: 'ann', role: 'client', bounds: null, secretHash: '' };
const hourMs = 3_600_000;
const breaker = { ratio: 0.5, minimum: 10, windowSeconds: 60, openSeconds: 30 };
/** Known before a worker has come. */
const echo = { rateLimit: null, baseUrl: null, apiKeyEnv: null, breaker, model: 'echo' };

/** With a webhook that gets only what names it. */
async function hooked(t: ExecutionContext): Promise<Bundle & { sender: HandSender }> {
  const sender = new HandSender();
  for (const one of [url, otherUrl]) sender.statuses.set(one, 200);
  const bundle = await setup(t, { providers: { echo } }, { webhookSender: sender });
  await create(bundle, 'ops', url);
  return { ...bundle, sender };
}

async function create({ coordinator }: Bundle, name: string, to: string): Promise<string> {
  const settings = { name, url: to, description: null, events: [], tags: null, isEnabled: true };
  return (await coordinator.webhooks.create(settings, nobody)).webhook.id;
}

/** The endpoint `ops` has another name, and another endpoint has that one's. */
async function swapNames(bundle: Bundle): Promise<void> {
  await bundle.coordinator.webhooks.change('ops', { name: 'former' }, nobody);
  await create(bundle, 'ops', otherUrl);
}

async function finish(bundle: Bundle, id: string): Promise<void> {
  const worker = await bundle.worker();
  await worker.complete(await worker.job());
  await bundle.jobAs(id, 'completed');
  worker.close(1000, '');
}

test('a job notifies the webhook that it named, whatever has that name at its end', async (t) => {
  const bundle = await hooked(t);
  const { job } = await bundle.coordinator.dispatch(request({ webhook: 'ops' }));
  t.is(job.request.webhook, 'ops');
  await swapNames(bundle);
  const again = await bundle.restart();
  await finish(again, job.id);
  t.like(await bundle.sender.message(1), { url, event: { data: { id: job.id } } });
  await until('the end of the delivery', () => again.coordinator.webhooks.get('former').pending === 0);
  t.is(bundle.sender.sent.length, 1);
});

test('a job whose webhook was deleted notifies nobody, also when another has its name', async (t) => {
  const bundle = await hooked(t);
  const { job } = await bundle.coordinator.dispatch(request({ webhook: 'ops' }));
  await bundle.coordinator.webhooks.remove('ops', nobody);
  await create(bundle, 'ops', otherUrl);
  await finish(bundle, job.id);
  t.deepEqual(bundle.coordinator.webhooks.deliveries('ops', 9), []);
});

test('one key stands for the same request after the webhook that it names has another name', async (t) => {
  const bundle = await hooked(t);
  const { coordinator } = bundle;
  const key = `${ann.keyId} once`;
  const once = () => coordinator.dispatchAllOnce(key, [coordinator.plan(request({ webhook: 'ops' }))], ann);
  const [first] = (await once()).jobs;
  await swapNames(bundle);
  const { jobs, isNew } = await once();
  t.false(isNew);
  t.is(jobs[0]?.id, first?.id);
});

test('a batch notifies the webhook that it named, whatever has that name at its end', async (t) => {
  const bundle = await hooked(t);
  const { coordinator, config, clock, sender } = bundle;
  openBatches({ coordinator, config: () => config, clock });
  const { files, batches } = coordinator;
  const draft = await files.begin({ name: 'a.jsonl', purpose: 'batch', expiresAt: null, createdBy: null });
  const body = { model: 'echo', messages: [{ role: 'user', content: 'Hi' }] };
  const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body };
  await draft.write(Buffer.from(`${JSON.stringify(line)}\n`));
  const asked = {
    endpoint: '/v1/chat/completions',
    inputFileId: (await files.add(await draft.finish())).id,
    window: '1h',
    windowMs: hourMs,
    outputKeptMs: hourMs,
    metadata: {},
    limits: { maxCost: null, maxFailures: null },
    key: null,
    webhook: 'ops',
  };
  const first = await batches.create(asked, ann);
  await swapNames(bundle);
  // What is asked for again is made of the first one.
  const { webhookId } = first.batch.request;
  const second = await batches.create({ ...asked, ...(webhookId === undefined ? {} : { webhookId }) }, ann);
  for (const [place, { id }] of [first, second].entries()) {
    await batches.cancel(id, nobody);
    const message = await sender.message(place + 1);
    t.like(message, { url, event: { type: 'batch.cancelled', data: { run_id: id } } });
  }
});

test('a job that was stored with a name only notifies the webhook of that name', async (t) => {
  const bundle = await hooked(t);
  const { id } = (await bundle.coordinator.dispatch(request({ webhook: 'ops' }))).job;
  const job = await bundle.store.job(id);
  if (job === undefined) throw new Error('there is no job');
  const { webhookId, ...former } = job.request;
  const book = new WebhookBook();
  book.open((await bundle.store.webhooks()).webhooks, []);
  const rules = () => ({ allowedHosts: [], allowHttp: false });
  const outbox = new Outbox({ book, newId: () => 'new', rules });
  const deliveries = outbox.ofJob({ ...job, request: former }, 'completed', job.life);
  t.deepEqual(
    deliveries.map((delivery) => delivery.webhookId),
    [webhookId],
  );
});
