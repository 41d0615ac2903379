import type { ExecutionContext } from 'ava';
import { systemClock } from '../../src/lib/systemClock.ts';
import { endless, silent } from '../fixtures/providers/answers.ts';
import type { FakeServer } from '../fixtures/providers/server.ts';
import { begin, failureOf, least } from './providerRun.ts';
import { setupWire, turnOf, type WireSubject, type WireTest } from './providerWire.ts';

/** From the abort to the server's seeing it. */
const closedWithinMs = 100;
/** A machine that does much else may be late once; whoever is late by design is late every time. */
const triesMax = 5;

/** @param start begins a run; what it gives aborts the run and looks at its end. */
async function closesAtOnce(
  t: ExecutionContext,
  server: FakeServer,
  start: () => Promise<() => Promise<void>>,
): Promise<void> {
  const timesMs: number[] = [];
  while (timesMs.length < triesMax && !timesMs.some((ms) => ms <= closedWithinMs)) {
    const abort = await start();
    const abortedAt = performance.now();
    const aborted = abort();
    await server.idle();
    timesMs.push(performance.now() - abortedAt);
    await aborted;
  }
  t.true(Math.min(...timesMs) <= closedWithinMs, `closed after ${timesMs.map(Math.round).join(', ')} ms`);
}

/** How an adapter lets go. */
export function testAborts(subject: WireSubject, test: WireTest): void {
  const { dialect } = subject;

  test.alone(
    'an abort in the middle closes the socket at once and tells what was used until then',
    async (t) => {
      const { server, provider, job } = await setupWire(t, subject, endless(dialect, turnOf(subject)));
      await closesAtOnce(t, server, async () => {
        const run = begin(provider, job);
        await run.firstText;
        return async () => {
          run.abort();
          const { error, usage } = failureOf(await run.outcome);
          t.is(error.code, 'aborted');
          if (dialect.usageSoFar === null) t.is(usage, undefined);
          else t.like(usage, dialect.usageSoFar);
          const said = run.pieces.length;
          for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setImmediate(resolve));
          t.is(run.pieces.length, said, 'nothing is said after it');
        };
      });
    },
  );

  test.alone('an abort while the server says nothing closes the socket at once', async (t) => {
    const { server, provider, job } = await setupWire(t, subject, silent);
    await closesAtOnce(t, server, async () => {
      const before = server.bodies.length;
      const run = begin(provider, job);
      await server.askedFor(before + 1);
      return async () => {
        run.abort();
        t.like(failureOf(await run.outcome), { error: { code: 'aborted' }, usage: undefined });
      };
    });
  });

  test('a run that is aborted before it begins asks nothing', async (t) => {
    const { server, provider, job } = await setupWire(t, subject);
    const run = begin(provider, job, { signal: AbortSignal.abort() });
    t.is(failureOf(await run.outcome).error.code, 'aborted');
    t.deepEqual(run.pieces, []);
    t.deepEqual(server.asked, []);
  });

  test('a reader that aborts in the middle of its piece gets no other', async (t) => {
    const { server, provider, job } = await setupWire(t, subject, endless(dialect, turnOf(subject), 0));
    const controller = new AbortController();
    const pieces: string[] = [];
    const outcome = provider.run(
      { ...least, provider: provider.name, ...job },
      {
        signal: controller.signal,
        clock: systemClock,
        onText: (text) => {
          pieces.push(text);
          controller.abort();
        },
        onPart: () => {},
      },
    );
    t.is(failureOf(await outcome).error.code, 'aborted');
    t.is(pieces.length, 1);
    await server.idle();
  });
}
