import test, { type ExecutionContext } from 'ava';
import { nobody } from '../../src/domain/audit.ts';
import type { SendOutcome, WebhookEventType, WebhookMessage } from '../../src/domain/webhook.ts';
import { type Bundle, request, setup } from '../support/coordinator.ts';
import { HandSender } from '../support/handSender.ts';
import { until } from '../support/process.ts';

const url = 'https://hooks.example.com/svc';
const second = 1_000;

/** Holds messages up, as a sender does that is busy with other hosts, until the test says otherwise. */
class BusySender extends HandSender {
  isBusy = true;
  heldUp = 0;

  override send(message: WebhookMessage): Promise<SendOutcome> {
    if (!this.isBusy) return super.send(message);
    this.heldUp += 1;
    return Promise.resolve({ status: null, error: 'busy', retryAfter: null, ms: 1, isHeldUp: true });
  }
}

async function hooked<S extends HandSender>(t: ExecutionContext, sender: S): Promise<Bundle & { sender: S }> {
  const bundle = await setup(t, {}, { webhookSender: sender });
  const events: WebhookEventType[] = ['job.completed'];
  const settings = { name: 'ops', url, description: null, events, tags: null, isEnabled: true };
  await bundle.coordinator.webhooks.create(settings, nobody);
  return { ...bundle, sender };
}

/** Jobs that complete at the same time. */
async function complete({ coordinator, worker }: Bundle, count: number): Promise<void> {
  for (let nth = 0; nth < count; nth += 1) await coordinator.dispatch(request());
  const hand = await worker({ concurrency: count });
  for (let nth = 1; nth <= count; nth += 1) await hand.complete(await hand.job(nth));
  hand.close(1000, '');
}

test('a message that is held up on this side is sent later, and does not count against the endpoint', async (t) => {
  const bundle = await hooked(t, new BusySender());
  const { coordinator, sender, clock } = bundle;
  sender.statuses.set(url, 200);
  const deliveries = () => coordinator.webhooks.deliveries('ops', 20);
  await complete(bundle, 8);
  await until('a message that is held up', () => sender.heldUp > 0);
  await until('all jobs', () => deliveries().length === 8);
  for (let round = 0; round < 5; round += 1) {
    const before = sender.heldUp;
    clock.advance(30 * second);
    await until('another attempt', () => sender.heldUp > before);
  }
  for (const delivery of deliveries()) t.like(delivery, { state: 'pending', tries: 0, last: null });
  sender.isBusy = false;
  // Had these been failures, it would be probed by one message in 30 s and more.
  clock.advance(30 * second);
  await until('all messages', () => deliveries().every(({ state }) => state === 'delivered'));
  t.true(deliveries().every(({ tries }) => tries === 1));
});

test('messages that were under way together and fail together are one failed probe', async (t) => {
  const bundle = await hooked(t, new HandSender());
  const { sender, clock } = bundle;
  await complete(bundle, 16);
  await sender.message(16);
  for (const message of sender.sent) message.answer(500);
  await until('outcomes', () =>
    bundle.coordinator.webhooks.deliveries('ops', 20).every((one) => one.tries > 0),
  );
  clock.advance(34 * second);
  const probe = await sender.message(17);
  t.is(probe.url, url);
});
