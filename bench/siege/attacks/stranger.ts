import type { Attack, Siege } from '../attacker.ts';
import { bodyOf, outcome, Raw } from '../wire.ts';

const mebibyte = 1024 ** 2;
const holdMs = 40_000;
const slowMs = 1_000;

export const strangerAttacks: readonly Attack[] = [
  {
    name: 'open connections',
    atOnce: 8_000,
    pauseMs: 2_000,
    round: async (siege) => (await Raw.open(siege)).hold(holdMs),
  },
  { name: 'slow heads', atOnce: 200, pauseMs: 500, round: slowHead },
  {
    name: 'wrong keys',
    atOnce: 4,
    pauseMs: 5,
    round: (siege, turn) => outcome(siege, { path: '/api/jobs', key: wrongKey(turn) }),
  },
  {
    name: 'large bodies without a key',
    atOnce: 2,
    pauseMs: 50,
    round: (siege) =>
      outcome(siege, {
        method: 'POST',
        path: '/api/jobs',
        body: bodyOf('{"prompt":"', 'a', 9 * mebibyte, '"}'),
      }),
  },
  { name: 'floods', atOnce: 8, pauseMs: 5, round: (siege) => outcome(siege, { path: '/health' }) },
  { name: 'broken requests', atOnce: 4, pauseMs: 20, round: broken },
];

const brokenRequests = [
  'GET /health HTTP/1.1\r\n\r\n',
  'GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n',
  `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`,
  `GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n${'x: y\r\n'.repeat(3_000)}\r\n`,
  'POST /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AQEBAQEBAQEBAQEBAQEBAQ==\r\n\r\n',
  '\u0016\u0003\u0001\u0002\u0000\u0001',
];

async function broken(siege: Siege, turn: number): Promise<string> {
  const raw = await Raw.open(siege);
  raw.write(brokenRequests[turn % brokenRequests.length] ?? '');
  return raw.hold(5_000);
}

async function slowHead(siege: Siege): Promise<string> {
  const raw = await Raw.open(siege);
  raw.write(`GET /health HTTP/1.1\r\nHost: ${siege.host}\r\n`);
  const trickle = setInterval(() => raw.write('x: y\r\n'), slowMs);
  try {
    return await raw.hold(holdMs);
  } finally {
    clearInterval(trickle);
  }
}

/** Of the right form and of wrong ones. */
function wrongKey(turn: number): string {
  const digits = turn.toString(36).padStart(24, '0');
  return turn % 2 === 0 ? `svc_admin_${digits.slice(0, 8)}_${digits.repeat(2)}` : digits;
}
