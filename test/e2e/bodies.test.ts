import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import test from 'ava';
import fc from 'fast-check';
import { depth } from '../support/depth.ts';
import { answerTo } from '../support/e2eHttp.ts';
import { temporaryFolder } from '../support/folder.ts';
import { startCoordinator } from '../support/process.ts';

const mebibyte = 1024 * 1024;
const probe = join(import.meta.dirname, '..', 'fixtures', 'turnProbe.ts');
/** No heartbeats, so that all that takes time is the bodies. */
const jobs = { heartbeat_interval_seconds: 60, reap_stale_after_seconds: 0 };

const times = (text: string, bytes: number): string =>
  text.repeat(Math.max(1, Math.floor(bytes / text.length)));
const members = (bytes: number): string => {
  const parts: string[] = [];
  for (let size = 0, n = 0; size < bytes; n += 1) size += parts.push(`"k${n}":${n}`) && 12;
  return parts.join();
};

/** Texts of some `bytes` bytes, each the worst for some way to read it. */
const shapes: Record<string, (bytes: number) => string> = {
  blanks: (bytes) => times(' ', bytes),
  lineEnds: (bytes) => times('\n', bytes),
  openBrackets: (bytes) => times('[', bytes),
  openBraces: (bytes) => times('{"a":', bytes),
  emptyLists: (bytes) => `[${times('[],', bytes)}0]`,
  commas: (bytes) => times(',', bytes),
  members: (bytes) => `{${members(bytes)}}`,
  repeatedMembers: (bytes) => `{${times('"a":1,', bytes)}"a":1}`,
  lists: (bytes) => `[${times('0,', bytes)}0]`,
  numbers: (bytes) => `[${times('-1.7976931348623157e+308,', bytes)}0]`,
  longNumber: (bytes) => times('9', bytes),
  longText: (bytes) => `"${times('a', bytes)}"`,
  openText: (bytes) => `"${times('a', bytes)}`,
  wideText: (bytes) => `"${times('a一', bytes / 2)}"`,
  escapes: (bytes) => `"${times('\\n', bytes)}"`,
  slashes: (bytes) => `"${times('\\\\', bytes)}"`,
  openSlashes: (bytes) => `"${times('\\', bytes)}`,
  quotes: (bytes) => `"${times('\\"', bytes)}"`,
  codes: (bytes) => `"${times('\\u4e00', bytes)}"`,
  halfCodes: (bytes) => `"${times('\\ud83d', bytes)}"`,
  prototypes: (bytes) => `"${times('__proto_', bytes)}"`,
  shortTexts: (bytes) => `[${times('"a",', bytes)}0]`,
};

/** Where in a body the text stands. */
const places: Record<string, (text: string) => string> = {
  alone: (text) => text,
  params: (text) => `{"prompt":"x","provider":"nobody","zz":1,"params":{"a":${text}}}`,
  message: (text) => `{"provider":"nobody","zz":1,"messages":[{"role":"user","content":${text}}]}`,
  prompt: (text) => `{"provider":"nobody","zz":1,"prompt":${text}}`,
  metadata: (text) => `{"prompt":"x","zz":1,"metadata":${text}}`,
  before: (text) => `${text}{"prompt":"x","provider":"nobody","zz":1}`,
  tags: (text) => `{"prompt":"x","zz":1,"tags":${text}}`,
};

interface Route {
  path: string;
  type: string;
  bytesMax: number;
  wrap: (text: string, count: number) => string;
  encodings: readonly string[];
}

const json = 'application/json';
const one = (path: string): Route => ({
  path,
  type: json,
  bytesMax: 10 * mebibyte - 1024,
  wrap: (text) => text,
  encodings: ['identity', 'gzip', 'br'],
});
const many = (type: string, wrap: Route['wrap']): Route => ({
  path: '/api/jobs/batch',
  type,
  bytesMax: 48 * mebibyte,
  wrap,
  encodings: ['identity'],
});
const routes: readonly Route[] = [
  one('/api/jobs'),
  one('/api/route/explain'),
  one('/api/jobs/cancel'),
  one('/api/keys'),
  many(json, (text, count) => `{"jobs":[${Array(count).fill(text).join()}]}`),
  many(json, (text) => `{"zz":${text},"jobs":[]}`),
  many('application/x-ndjson', (text, count) => Array(count).fill(text).join('\n')),
];

/** What a body of ten mebibytes of escapes takes to parse here and now, ms of processor time; some 18 on a quiet machine. */
function reference(): number {
  const text = shapes.escapes?.(10 * mebibyte) ?? '';
  const began = process.threadCpuUsage();
  JSON.parse(text);
  const { user, system } = process.threadCpuUsage(began);
  return (user + system) / 1000;
}

function encoded(body: string, encoding: string): Buffer {
  if (encoding === 'gzip') return gzipSync(body, { level: 1 });
  return encoding === 'br' ? brotliCompressSync(body, { params: { 0: 0, 1: 1 } }) : Buffer.from(body);
}

test.serial(
  'no body within the limits holds up others, whatever it is made of and however many come',
  async (t) => {
    const file = `${temporaryFolder(t)}.turns`;
    writeFileSync(file, '');
    const { port } = await startCoordinator(t, {
      config: { jobs },
      env: { NODE_OPTIONS: `--import ${probe}`, SVC_TURN_PROBE: file },
    });
    await delay(300);
    const longest = (): number => {
      const turns = readFileSync(file, 'utf8').split('\n').map(Number);
      writeFileSync(file, '');
      return Math.max(...turns);
    };
    longest();
    const text = fc.record({
      shape: fc.constantFrom(...Object.keys(shapes)),
      second: fc.constantFrom(null, null, ...Object.keys(shapes)),
      place: fc.constantFrom(...Object.keys(places)),
      part: fc.oneof(fc.constant(1), fc.double({ min: 0.001, max: 1, noNaN: true })),
      count: fc.constantFrom(1, 1, 2, 6, 1000),
    });
    const worst: string[] = [];
    const property = fc.asyncProperty(
      fc.constantFrom(...routes),
      fc.nat(2),
      text,
      fc.integer({ min: 1, max: 3 }),
      async (route, coding, { shape, second, place, part, count }, atOnce) => {
        const items = route.bytesMax > 10 * mebibyte ? count : 1;
        const bytes = Math.min((route.bytesMax * part) / items, items > 1 ? 10 * mebibyte : route.bytesMax);
        const half = second === null ? bytes : bytes / 2;
        const made =
          (shapes[shape]?.(half) ?? '') + (second === null ? '' : `,${shapes[second]?.(half) ?? ''}`);
        const body = route.wrap(places[place]?.(made) ?? made, items);
        const encoding = route.encodings[coding % route.encodings.length] ?? 'identity';
        const sent = encoded(body, encoding);
        const headers = {
          'content-type': route.type,
          ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
        };
        const before = reference();
        const asked = Array.from({ length: atOnce }, () =>
          answerTo(port, { method: 'POST', path: route.path, headers, body: sent }),
        );
        const answers = await Promise.all(asked);
        await delay(20);
        const took = longest();
        const allowed = 4 * Math.max(before, reference());
        const what = `${route.path} ${route.type} ${encoding} ${sent.length} bytes: ${items} ${shape} ${second} in ${place}, ${atOnce} at once`;
        worst.push(
          `${took.toFixed(0).padStart(5)} of ${allowed.toFixed(0)} ms ${what} ${answers[0]?.status}`,
        );
        for (const { status } of answers) t.true(status < 500, `${status} ${what}`);
        if (took > allowed) throw new Error(`a turn took ${took} ms of ${allowed}: ${what}`);
      },
    );
    await fc.assert(property, { numRuns: depth(15, 60), endOnFailure: true });
    t.log(worst.sort().slice(-5).join('\n'));
    t.pass();
  },
);
