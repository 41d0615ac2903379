import { BlockList, isIP } from 'node:net';

/** A range of addresses: `10.0.0.0/8`, or one address. */
const rangePattern = /^([\da-fA-F.:]+)(?:\/(\d{1,3}))?$/;

/** Of https://www.iana.org/assignments/iana-ipv4-special-registry: what is not on the internet. */
const special4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** Global unicast. All else is loopback, local, multicast, or leads to IPv4: `::ffff:0:0/96`, NAT64 in `64:ff9b::/96`. */
const global6 = ['2000::/3'];
/** Of global unicast: Teredo and other tunnels, 6to4, documentation. */
const special6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const special = blockListOf([...special4, ...special6]);
const internet6 = blockListOf(global6);

/** Whether an address is on the internet, and not in a private or otherwise special network. */
export function isPublic(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special.check(address, 'ipv4');
  if (family !== 6) return false;
  return internet6.check(address, 'ipv6') && !special.check(address, 'ipv6');
}

/** Whether an address is in one of the ranges; an entry that is no range matches nothing. */
export function isInRanges(address: string, ranges: readonly string[]): boolean {
  return blockListOf(ranges).check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [, address = '', prefix] = rangePattern.exec(range) ?? [];
    const family = isIP(address);
    const bits = prefix === undefined ? (family === 4 ? 32 : 128) : Number(prefix);
    if (family === 0 || bits > (family === 4 ? 32 : 128)) continue;
    list.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}
