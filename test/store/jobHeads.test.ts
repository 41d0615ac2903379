import test from 'ava';
import fc from 'fast-check';
import type { JobRecord } from '../../src/domain/job.ts';
import { jobStates } from '../../src/domain/states.ts';
import { nextJob } from '../../src/store/changes/apply.ts';
import { HeadReader } from '../../src/store/json/checkpoint/jobHeads.ts';
import { creation, epoch, targetOf } from './jobs.ts';

/** Texts that look like the members around them. */
const tricky = fc.oneof(
  fc.string({
    unit: fc.constantFrom('"', '\\', '{', '}', ',', ':', 'a', 'é', '😀', '\u0000', '\n'),
    maxLength: 60,
  }),
  fc.constantFrom('request', 'provider', 'life', 'state', 'runId', ',"state":"pending.ready","life":{', '"}'),
);
const anything = fc.oneof(fc.jsonValue(), fc.dictionary(tricky, tricky), fc.array(tricky));

const records = fc
  .record({
    prompt: fc.option(tricky),
    content: anything,
    provider: fc.option(tricky),
    params: fc.dictionary(tricky, fc.jsonValue()),
    metadata: fc.dictionary(tricky, tricky),
    chain: fc.array(tricky, { maxLength: 3 }),
    priority: tricky,
    enqueuedAt: fc.oneof(fc.nat(), fc.constant(epoch), fc.double({ noNaN: true, noDefaultInfinity: true })),
    creator: fc.option(fc.record({ keyId: tricky, name: fc.option(tricky) })),
    run: fc.option(fc.record({ runId: tricky, name: tricky, lineId: tricky })),
    rawUsage: anything,
    key: fc.option(tricky),
  })
  .map((made) => {
    const { prompt, content, provider, params, metadata, priority, run, creator } = made;
    // -0 is stored as 0.
    const enqueuedAt = made.enqueuedAt + 0;
    const messages = [{ role: 'user', content }];
    const change = creation('an-id', {
      request: { prompt, messages, provider, params, metadata, priority },
      life: {
        chain: made.chain.map((name) => targetOf(name)),
        enqueuedAt,
        tallies: { request: { failures: 1, lastAt: 1, provider: 'x' } } as never,
        result: { rawUsage: made.rawUsage } as never,
      },
      ...(creator === null ? {} : { by: creator }),
    });
    if (change.created !== undefined && run !== null) change.created.run = run;
    const job = nextJob(undefined, change, 17);
    const idempotency = made.key === null ? undefined : { key: made.key, jobId: job.id, expiresAt: 1 };
    return { job, idempotency };
  });

function readWhole(heads: HeadReader, line: Buffer) {
  return heads.read(line, 0, line.length);
}

test('the head that is found in a line is that of its job, whatever clients have put into it', (t) => {
  const heads = new HeadReader();
  let found = 0;
  const property = fc.property(records, ({ job, idempotency }) => {
    const line = Buffer.from(JSON.stringify({ ...job, idempotency }));
    const head = readWhole(heads, line);
    const { enqueuedAt, strategy, target, chain, priority } = job.life;
    // Such a line is parsed.
    if (head === null)
      return t.false(Number.isSafeInteger(enqueuedAt) && enqueuedAt >= 0 && enqueuedAt < 1e15);
    found += 1;
    t.is(head.kind.run?.runId, job.run?.runId);
    const { createdBy, request, life } = head.kind;
    t.deepEqual(
      { ...head, kind: { createdBy, request, life } },
      {
        ordinal: 17,
        id: 'an-id',
        enqueuedAt,
        idempotency: idempotency ?? null,
        kind: {
          createdBy: job.createdBy,
          request: { provider: job.request.provider },
          life: { strategy, target, chain, priority },
        },
      },
    );
    return undefined;
  });
  fc.assert(property, { numRuns: 500 });
  t.true(found > 100);
});

test('a line of another state, of a key, or with its members in another order has to be parsed', (t) => {
  const heads = new HeadReader();
  const job = nextJob(undefined, creation('a'), 1);
  const isFound = (line: unknown) => readWhole(heads, Buffer.from(JSON.stringify(line))) !== null;
  t.true(isFound(job));
  for (const state of jobStates) t.is(isFound({ ...job, state }), state === 'pending.ready', state);
  t.false(isFound({ ordinal: 1, idempotency: { key: 'k', jobId: 'a', expiresAt: 1 } }));
  const reversed = Object.fromEntries(Object.entries(job).reverse());
  const { createdBy: _, ...ofFormat3 } = job satisfies JobRecord;
  const { updatedAt, ...life } = job.life;
  const later = { ...job, life: { updatedAt, ...life } };
  for (const line of [reversed, ofFormat3, later, { ...job, more: 1 }, { ...job, version: 'x' }, [], 'text'])
    t.false(isFound(line));
});

test('a damaged line never stops the search for its head', (t) => {
  const heads = new HeadReader();
  const text = JSON.stringify(nextJob(undefined, creation('a', { request: { prompt: 'say "hello\\"' } }), 1));
  const whole = Buffer.from(text);
  for (let at = 0; at < whole.length; at += 1) {
    readWhole(heads, whole.subarray(0, at));
    readWhole(heads, whole.subarray(at));
    for (const byte of [0, 0x22, 0x5c, 0x7d, 0x2c, 0xff]) {
      const damaged = Buffer.from(whole);
      damaged[at] = byte;
      readWhole(heads, damaged);
    }
  }
  t.not(readWhole(heads, whole), null);
});
