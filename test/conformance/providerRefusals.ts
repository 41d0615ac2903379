import type { ErrorClass } from '../../src/domain/failure.ts';
import { failingAtOnce, failingInside, redirected, refused, whole } from '../fixtures/providers/answers.ts';
import { type ErrorRow, nowMs } from '../fixtures/providers/dialect.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { begin, failureOf } from './providerRun.ts';
import { serve, setupWire, turnOf, type WireSubject, type WireTest } from './providerWire.ts';

/** The words that users look for (spec, "Errors"), in the worker's own message. */
const words: Partial<Record<ErrorClass, RegExp>> = {
  model_not_found: /Model not found/,
  model_not_loaded: /No model loaded/,
  auth: /401 Unauthorized: Authentication failed/,
  rate_limited: /429 Too Many Requests: Rate limit exceeded/,
};

/** What an adapter makes of a provider that refuses, with a status or inside a 200. */
export function testRefusals(subject: WireSubject, test: WireTest): void {
  const { dialect, apiKey } = subject;

  for (const row of dialect.errors) {
    test(`refused: ${row.title}`, async (t) => {
      const { server, provider, job } = await setupWire(t, subject, refused(row));
      const run = begin(provider, job, { clock: new FakeClock(nowMs) });
      const { error } = failureOf(await run.outcome);
      t.is(error.class, row.class, error.message);
      t.is(error.status, row.status);
      t.regex(error.message, words[row.class] ?? /./);
      const { retryAfter } = row;
      if (retryAfter !== undefined) t.is(error.retry_after_seconds, retryAfter ?? undefined);
      t.deepEqual(run.pieces, []);
      t.is(server.bodies.length, 1, 'nothing is tried again: the coordinator decides that');
      await server.idle();
    });
  }

  for (const { title, piece, class: expected } of dialect.streamErrors) {
    for (const [when, answer] of [
      ['after some text', failingInside(dialect, turnOf(subject), piece)],
      ['at once', failingAtOnce(dialect, piece)],
    ] as const) {
      test(`a 200 that fails ${when}: ${title}`, async (t) => {
        const { server, provider, turn, job } = await setupWire(t, subject, answer);
        const run = begin(provider, job);
        const { error } = failureOf(await run.outcome);
        t.is(error.class, expected, error.message);
        t.regex(error.message, words[expected] ?? /./);
        t.not(error.status, 200);
        t.is(run.pieces.join(''), when === 'at once' ? '' : turn.text.join(''));
        t.is(server.bodies.length, 1);
        await server.idle();
      });
    }
  }

  const { filtered } = dialect.finishes;
  if (filtered !== null) {
    test('an answer that was withheld, without a word, is content_filtered', async (t) => {
      const turn = turnOf(subject, { text: [], finish: filtered });
      const { provider, job } = await setupWire(t, subject, whole(dialect, turn));
      t.is(failureOf(await begin(provider, job).outcome).error.class, 'content_filtered');
    });
  }

  for (const status of [301, 302, 303, 307, 308]) {
    test(`a redirect is not followed: ${status}`, async (t) => {
      const other = await serve(t, whole(dialect, turnOf(subject)));
      const { provider, job } = await setupWire(t, subject, redirected(status, `${other.url}/elsewhere`));
      const { error } = failureOf(await begin(provider, job).outcome);
      t.like(error, { class: 'unknown', code: 'redirect_refused', status });
      t.regex(error.message, /redirect/i);
      t.deepEqual(other.asked, [], 'the key and the prompt go nowhere else');
    });
  }

  if (apiKey !== null) {
    test('a key that the provider repeats is in no message', async (t) => {
      const { server, provider, job } = await setupWire(t, subject);
      const row: ErrorRow = { title: '', status: 401, body: {}, class: 'auth' };
      const echoes = [
        refused({
          ...row,
          body: { error: { message: `Incorrect API key provided: ${apiKey}`, type: apiKey } },
        }),
        refused({ ...row, body: { error: `Incorrect API key provided: ${apiKey}` } }),
        refused({ ...row, status: 500, body: `<html>authorization: Bearer ${apiKey}</html>` }),
        refused({ ...row, status: 400, body: { error: { code: apiKey, message: apiKey } } }),
        refused({ ...row, status: 500, body: { detail: `sent ${apiKey}` } }),
        ...dialect.streamErrors.map(({ piece }) =>
          failingAtOnce(dialect, piece.replace(/("message":"|"error":")/g, `$1${apiKey} `)),
        ),
      ];
      for (const echo of echoes) {
        server.answer(echo);
        const outcome = await begin(provider, job).outcome;
        t.false(outcome.ok);
        t.false(JSON.stringify(outcome).includes(apiKey), JSON.stringify(outcome));
      }
    });
  }

  test('what the job says is in no message', async (t) => {
    const secret = 'a private matter of the client';
    const { provider, job } = await setupWire(t, subject, ({ asked, response }) => {
      response.writeHead(500, { 'content-type': 'text/plain' }).end(`cannot handle ${asked.text}`);
    });
    const { error } = failureOf(await begin(provider, { ...job, prompt: secret }).outcome);
    t.is(error.class, 'server_error');
    t.false(error.message.includes(secret), error.message);
  });

  test('a body without an end is not read without an end', async (t) => {
    const { server, provider, job } = await setupWire(t, subject, async ({ response, closed }) => {
      response.writeHead(500, { 'content-type': 'application/json' });
      response.write('{"error":{"message":"');
      while (!closed.aborted) {
        response.write('x'.repeat(65_536));
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    const { error } = failureOf(await begin(provider, job).outcome);
    t.like(error, { class: 'server_error', status: 500 });
    t.true(error.message.length <= 2000);
    await server.idle();
  });
}
