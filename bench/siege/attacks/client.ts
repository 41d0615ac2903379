import type { Attack, Siege } from '../attacker.ts';
import { pause } from '../attacker.ts';
import { ask, type Body, bodyOf, outcome, Raw } from '../wire.ts';
import { search } from './search.ts';

const mebibyte = 1024 ** 2;
const ndjson = 'application/x-ndjson';
/** Below the default of `http.max_body_bytes`, and of `http.max_batch_bytes`. */
const bodyBytes = 9.9 * mebibyte;
const batchBytes = 64 * mebibyte;
const largeBytes = 9.5 * mebibyte;
/** Of all large jobs: so that the memory of jobs is not what is measured. */
const largeJobsMax = 30;
const holdMs = 60_000;
const start = '{"prompt":"x","provider":"nobody"';

/** Bodies that are hard to read, by attack. */
const worstBodies: Record<string, readonly { path: string; type?: string; body: Body }[]> = {
  'blank lines': [
    batch(bodyOf('', '\n', 64 * 1024, '')),
    batch(bodyOf('', '\n', 256 * 1024, `${start}}`)),
    batch(bodyOf('', '\r\n', 8 * mebibyte, '')),
    batch(bodyOf('', ' ', 8 * mebibyte, '\n')),
    batch(bodyOf('', '\t \n', 32 * mebibyte, '')),
  ],
  brackets: [
    batch(bodyOf('', '[', 32 * mebibyte, '')),
    batch(bodyOf('', '{"a":', 32 * mebibyte, '')),
    job(bodyOf('', '[', bodyBytes, '')),
    job(bodyOf(`${start},"params":{"a":`, '[', 4 * mebibyte, '')),
    batch(bodyOf('{"jobs":[', '[]]', 16 * mebibyte, '')),
  ],
  keys: [manyKeys('params', 600_000), manyKeys('metadata', 300_000), manyKeys('unknown', 600_000)],
  'numbers and escapes': [
    job(bodyOf(`${start},"params":{"a":`, '1', 8 * mebibyte, '}}')),
    job(bodyOf(`${start},"params":{"a":[`, '1e308,', 8 * mebibyte, '1]}}')),
    job(bodyOf('{"provider":"nobody","prompt":"', '\\u0061', 9 * mebibyte, '"')),
    job(bodyOf('{"provider":"nobody","prompt":"', '\\ud83d\\ude00', 9 * mebibyte, '","unknown":1}')),
    job(bodyOf(`${start},"metadata":{"a":"`, 'a', 9 * mebibyte, '"},"unknown":1}')),
    job(bodyOf(`${start},"tags":[`, '"a",', 9 * mebibyte, '"a"]}')),
    job(bodyOf('{"provider":"nobody","messages":[', '{"role":"x"},', 9 * mebibyte, '{}]}')),
  ],
};

export const clientAttacks: readonly Attack[] = [
  ...Object.entries(worstBodies).map(([name, bodies]): Attack => {
    return {
      name,
      atOnce: 2,
      pauseMs: 50,
      round: (siege, turn) => {
        const chosen = bodies[turn % bodies.length];
        return chosen === undefined ? Promise.resolve(null) : outcome(siege, { method: 'POST', ...chosen });
      },
    };
  }),
  {
    name: 'stalled bodies of 9.9 MiB',
    atOnce: 60,
    pauseMs: 500,
    round: (siege) => stall(siege, '/api/jobs', 'application/json', bodyBytes),
  },
  {
    name: 'stalled batches of 64 MiB',
    atOnce: 2,
    pauseMs: 100,
    round: (siege) => stall(siege, '/api/jobs/batch', ndjson, batchBytes),
  },
  {
    name: 'large jobs',
    atOnce: 1,
    pauseMs: 1_000,
    round: (siege) => largeJob(siege),
  },
  {
    name: 'a full queue',
    atOnce: 2,
    pauseMs: 50,
    round: (siege, turn) => {
      const body = bodyOf('', `${start}}\n`, 2_000 * (start.length + 2), '');
      const headers = { 'idempotency-key': `siege-${process.pid}-${turn}` };
      return outcome(siege, { method: 'POST', path: '/api/jobs/batch', type: ndjson, body, headers });
    },
  },
  {
    name: 'jobs for the hostile worker',
    atOnce: 1,
    pauseMs: 100,
    round: (siege) =>
      outcome(siege, { method: 'POST', path: '/api/jobs', body: '{"prompt":"x","provider":"hostile"}' }),
  },
  {
    name: 'waits',
    atOnce: 100,
    pauseMs: 100,
    round: (siege) => {
      const path = '/api/jobs?wait=20';
      return outcome(siege, { method: 'POST', path, body: '{"prompt":"x","provider":"hostile"}' });
    },
  },
  { name: 'searches', atOnce: 2, pauseMs: 50, round: search },
];

function job(body: Body) {
  return { path: '/api/jobs', body };
}

function batch(body: Body) {
  return { path: '/api/jobs/batch', type: ndjson, body };
}

function manyKeys(field: string, count: number) {
  const members = Array.from({ length: count }, (_, index) => `"k${index.toString(36)}":"1"`).join(',');
  return job({ start: `${start},"${field}":{`, piece: Buffer.from(members), times: 1, end: '}}' });
}

/** Send all but the end of a body, then a byte now and then. */
async function stall(siege: Siege, path: string, type: string, bytes: number): Promise<string> {
  const raw = await Raw.open(siege);
  raw.write(Raw.head(siege, `POST ${path}`, { 'content-type': type, 'content-length': Math.ceil(bytes) }));
  await raw.writeBody(bodyOf('{"prompt":"', 'a', bytes - mebibyte / 4, ''));
  const trickle = setInterval(() => raw.write('a'), 1_000);
  try {
    return await raw.hold(holdMs);
  } finally {
    clearInterval(trickle);
  }
}

let largeJobs = 0;

/** A job that is expensive to show and to search. */
async function largeJob(siege: Siege): Promise<string | null> {
  if (largeJobs >= largeJobsMax) {
    await pause(holdMs, siege.over);
    return null;
  }
  const body = bodyOf('{"provider":"nobody","tags":["large"],"prompt":"', 'a', largeBytes, '"}');
  const answer = await ask(siege, { method: 'POST', path: '/api/jobs', body });
  if (answer.status === 201) largeJobs += 1;
  return answer.outcome;
}
