import { createSocket } from 'node:dgram';
import test, { type ExecutionContext } from 'ava';
import type { WebhookEvent } from '../../src/domain/webhook.ts';
import { systemClock } from '../../src/lib/systemClock.ts';
import { HeldUp, Refused, type Resolve } from '../../src/webhooks/destination.ts';
import { HostLookup } from '../../src/webhooks/hostLookup.ts';
import { hasHost } from '../../src/webhooks/hostsFile.ts';
import { HttpSender } from '../../src/webhooks/index.ts';
import { until } from '../support/process.ts';
import { startReceiver } from '../support/receiver.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const event: WebhookEvent = { id: 'evt_1', type: 'job.completed', at: 0, data: { id: 'j' } };
const lan = { allowHttp: true, allowPrivate: ['127.0.0.0/8'], allowedHosts: [] };
const loopback = [{ address: '127.0.0.1', family: 4 }];
const unused: Resolve = () => Promise.reject(new Error('the system is asked'));

type Reply = 'address' | 'nothing' | 'unknown' | 'silence';

/** A name server on the loopback interface. @param reply to a question for the addresses of a family. */
async function startNameServer(t: ExecutionContext, reply: (name: string, family: number) => Reply) {
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const labels: string[] = [];
    let at = 12;
    for (let size = query[at] ?? 0; size > 0; size = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + size));
      at += size + 1;
    }
    const name = labels.join('.');
    asked.push(name);
    const kind = reply(name, query.readUInt16BE(at + 1) === 1 ? 4 : 6);
    if (kind === 'silence') return;
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(kind === 'unknown' ? 0x81_83 : 0x81_80, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(kind === 'address' ? 1 : 0, 6);
    const address = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, 1]);
    const answer = kind === 'address' ? [address] : [];
    socket.send(Buffer.concat([head, query.subarray(12, at + 5), ...answer]), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  t.teardown(() => socket.close());
  return { asked, servers: [`127.0.0.1:${socket.address().port}`] };
}

/** A clock of which the test decides when timers are due. */
function handClock() {
  const timers = new Set<{ ms: number; task: () => void }>();
  let set = 0;
  const after = (ms: number, task: () => void) => {
    set += 1;
    const timer = { ms, task };
    timers.add(timer);
    return () => void timers.delete(timer);
  };
  const fire = (wanted: (ms: number) => boolean = () => true) => {
    for (const timer of [...timers]) {
      if (!wanted(timer.ms)) continue;
      timers.delete(timer);
      timer.task();
    }
  };
  return { clock: { ...systemClock, after }, timers, set: () => set, fire };
}

test('hosts whose name servers do not answer hold up no other, and are asked for once by all their messages', async (t) => {
  const isSilent = (name: string) => name.startsWith('silent');
  const { asked, servers } = await startNameServer(t, (name, family) => {
    if (isSilent(name)) return 'silence';
    return family === 4 ? 'address' : 'nothing';
  });
  const { clock, fire } = handClock();
  const lookup = new HostLookup({ clock, servers, system: unused });
  const sender = new HttpSender({
    settings: () => lan,
    clock: systemClock,
    resolve: (host) => lookup.addressesOf(host),
  });
  t.teardown(() => sender.close());
  const receiver = await startReceiver(t);
  const send = (host: string) =>
    sender.send({ url: `http://${host}:${receiver.port}/`, event, secrets: [secret] });
  const hosts = Array.from({ length: 8 }, (_, place) => `silent-${place}.test`);
  const lost = hosts.flatMap((host) => Array.from({ length: 16 }, () => send(host)));
  await until('questions for all hosts', () => hosts.every((host) => asked.includes(host)));
  for (let count = 0; count < 3; count += 1) t.like(await send('good.test'), { status: 200, error: null });
  fire();
  for (const outcome of await Promise.all(lost)) {
    t.regex(outcome.error ?? '', /the name servers did not answer for silent-\d\.test/);
    // It is the receiver's fault, and counts.
    t.is(outcome.isHeldUp, undefined);
  }
  // For IPv4 and IPv6, with room for a repetition on a slow machine.
  t.true(asked.filter(isSilent).length <= hosts.length * 6);
});

test('what name servers do not know is looked up by the system, one host at a time; who waits too long was held up', async (t) => {
  const { servers } = await startNameServer(t, (name, family) =>
    name === 'good.test' && family === 4 ? 'address' : 'unknown',
  );
  const { clock, set, fire } = handClock();
  // Each lookup sets a timer for the name servers, one for an answer of them, and one while it waits for its turn.
  const running = new Map<string, (addresses: typeof loopback) => void>();
  const system: Resolve = (host) => new Promise((resolve) => running.set(host, resolve));
  const lookup = new HostLookup({ clock, servers, system });
  const slow = lookup.addressesOf('slow.lan');
  await until('a lookup of the system', () => running.has('slow.lan'));
  const second = lookup.addressesOf('second.lan');
  await until('a lookup that waits', () => set() === 3);
  t.deepEqual(await lookup.addressesOf('good.test'), loopback);
  const refused = t.throwsAsync(second, { instanceOf: HeldUp });
  fire();
  await refused;
  const third = lookup.addressesOf('third.lan');
  await until('another that waits', () => set() === 7);
  t.deepEqual([...running.keys()], ['slow.lan']);
  running.get('slow.lan')?.(loopback);
  t.deepEqual(await slow, loopback);
  await until('the next lookup', () => running.has('third.lan'));
  running.get('third.lan')?.([]);
  t.deepEqual(await third, []);
  const again = lookup.addressesOf('second.lan');
  await until('a free turn', () => running.has('second.lan'));
  running.get('second.lan')?.(loopback);
  t.deepEqual(await again, loopback);
});

test('a message that was held up says so', async (t) => {
  const resolve: Resolve = () => Promise.reject(new HeldUp('other hosts are being looked up'));
  const sender = new HttpSender({ settings: () => lan, clock: systemClock, resolve });
  const outcome = await sender.send({ url: 'http://x.example/', event, secrets: [secret] });
  t.like(outcome, { status: null, error: 'other hosts are being looked up', isHeldUp: true });
  t.is(await sender.refusal('http://x.example/'), 'other hosts are being looked up');
});

test('name servers that answer for one family only give the addresses of that one', async (t) => {
  const { servers } = await startNameServer(t, (_, family) => (family === 4 ? 'address' : 'silence'));
  const { clock, timers, fire } = handClock();
  const lookup = new HostLookup({ clock, servers, system: unused });
  const asked = lookup.addressesOf('half.test');
  await until('an answer for IPv4', () => timers.size === 2);
  fire((ms) => ms < 1_000);
  t.deepEqual(await asked, loopback);
  t.is(timers.size, 0);
});

test('the names of the hosts file lead where it says, without a name server', async (t) => {
  const { servers, asked } = await startNameServer(t, () => 'silence');
  const lookup = new HostLookup({ clock: systemClock, servers });
  const addresses = await lookup.addressesOf('localhost');
  t.true(addresses.some(({ address }) => address === '127.0.0.1' || address === '::1'));
  t.deepEqual(asked, []);
});

test('names are found in a hosts file as whole words beside an address, and not in its comments', (t) => {
  const text = '127.0.0.1\tlocalhost\r\n# 10.0.0.1 old.lan\n10.0.0.2  NAS.lan nas # files.lan\n';
  for (const name of ['localhost', 'nas.lan', 'NAS', 'nas.lan.']) t.true(hasHost(text, name), name);
  for (const name of ['old.lan', 'files.lan', 'lan', '10.0.0.2', 'local', ''])
    t.false(hasHost(text, name), name);
});

test('a name whose name servers do not answer is refused when a webhook is made', async (t) => {
  const { servers } = await startNameServer(t, () => 'silence');
  const { clock, timers, fire } = handClock();
  const lookup = new HostLookup({ clock, servers, system: unused });
  const asked = lookup.addressesOf('silent.test');
  const refused = t.throwsAsync(asked, { instanceOf: Refused, message: /did not answer/ });
  await until('a question', () => timers.size === 1);
  fire();
  await refused;
});
