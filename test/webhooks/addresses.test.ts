import test from 'ava';
import type { WebhookSettings } from '../../src/config/config.ts';
import { isInRanges, isPublic } from '../../src/webhooks/addresses.ts';
import { destinationOf, Refused, type Resolve } from '../../src/webhooks/destination.ts';

const strict: WebhookSettings = { allowHttp: false, allowPrivate: [], allowedHosts: [] };
const to =
  (...addresses: string[]): Resolve =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

test('only addresses on the internet are public', (t) => {
  for (const address of ['1.1.1.1', '8.8.8.8', '172.15.0.1', '172.32.0.1', '100.63.0.1', '2606:4700::1111'])
    t.true(isPublic(address), address);
  for (const address of [
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.2.1',
    '192.168.0.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff::1',
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    'no address',
  ])
    t.false(isPublic(address), address);
});

test('a private address is refused in every spelling', async (t) => {
  for (const url of [
    'https://127.0.0.1/',
    'https://127.1/',
    'https://0x7f.0.0.1/',
    'https://0177.0.0.1/',
    'https://2130706433/',
    'https://127.0.0.1./',
    'https://①②⑦.⓪.⓪.①/',
    'https://0/',
    'https://[::1]/',
    'https://[0:0:0:0:0:0:0:1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[64:ff9b::127.0.0.1]/',
    'https://[fe80::1]/',
    'https://169.254.169.254/latest/meta-data',
  ])
    await t.throwsAsync(destinationOf(url, strict, to('8.8.8.8')), { instanceOf: Refused }, url);
  await t.throwsAsync(destinationOf('https://localhost/', strict, to('127.0.0.1')), { instanceOf: Refused });
});

test('one private address among others refuses the name; a name without one leads nowhere', async (t) => {
  await t.throwsAsync(destinationOf('https://x.example/', strict, to('8.8.8.8', '10.0.0.1')), {
    message: /10\.0\.0\.1.*allow_private/,
  });
  await t.throwsAsync(destinationOf('https://x.example/', strict, to()), { message: /has no address/ });
  const failing: Resolve = () => Promise.reject(new Error('ENOTFOUND'));
  await t.throwsAsync(destinationOf('https://x.example/', strict, failing), { message: /has no address/ });
  const { addresses } = await destinationOf('https://x.example/', strict, to('8.8.8.8', '1.1.1.1'));
  t.deepEqual(
    addresses.map(({ address }) => address),
    ['8.8.8.8', '1.1.1.1'],
  );
});

test('the URL itself: https, no user name, no other protocol', async (t) => {
  for (const url of [
    'http://x.example/',
    'ftp://x.example/',
    'file:///etc/passwd',
    'https://user@x.example/',
    'https://user:secret@x.example/',
    'x.example',
    '',
    `https://x.example/${'a'.repeat(2048)}`,
  ])
    await t.throwsAsync(destinationOf(url, strict, to('8.8.8.8')), { instanceOf: Refused }, url);
  const lax = { ...strict, allowHttp: true };
  t.is((await destinationOf('http://x.example/', lax, to('8.8.8.8'))).url.protocol, 'http:');
});

test('private hosts, addresses and ranges can be allowed, and nothing beside them', async (t) => {
  const allow = (...allowPrivate: string[]) => ({ ...strict, allowPrivate });
  const isTaken = (url: string, settings: WebhookSettings, address: string) =>
    destinationOf(url, settings, to(address)).then(
      () => true,
      () => false,
    );
  t.true(await isTaken('https://10.1.2.3/', allow('10.0.0.0/8'), ''));
  t.true(await isTaken('https://nas.lan/', allow('192.168.1.5'), '192.168.1.5'));
  t.false(await isTaken('https://nas.lan/', allow('192.168.1.5'), '192.168.1.6'));
  t.true(await isTaken('https://nas.lan/', allow('nas.lan'), '192.168.1.6'));
  t.false(await isTaken('https://other.lan/', allow('nas.lan'), '192.168.1.6'));
  t.true(await isTaken('https://[fd00::1]/', allow('fd00::/8'), ''));
  for (const range of ['10.0.0.0/33', '10.0.0.0/', 'nonsense', '10.0.0', '/8', 'fd00::/129'])
    t.false(isInRanges('10.0.0.1', [range]), range);
});
