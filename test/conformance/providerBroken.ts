import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  cut,
  dropped,
  garbage,
  halved,
  incomplete,
  reset,
  silent,
  stalled,
  switched,
  whole,
} from '../fixtures/providers/answers.ts';
import { FakeClock } from '../support/fakeClock.ts';
import { begin, failureOf, resultOf } from './providerRun.ts';
import { setupWire, turnOf, type WireSubject, type WireTest } from './providerWire.ts';

const megabyte = 1024 * 1024;
const timeouts = { connectMs: 10_000, firstMs: 600_000, idleMs: 60_000, totalMs: 0 };

/** What an adapter makes of answers that break off, never come, or are none. */
export function testBrokenAnswers(subject: WireSubject, test: WireTest): void {
  const { dialect, apiKey } = subject;

  test('an answer that ends without its terminal event is a failure', async (t) => {
    const { provider, turn, job } = await setupWire(t, subject, incomplete(dialect, turnOf(subject)));
    const run = begin(provider, job);
    const { error, usage } = failureOf(await run.outcome);
    t.like(error, { class: 'server_error', code: 'incomplete_stream' });
    t.is(run.pieces.join(''), turn.text.join(''));
    if (dialect.usageSoFar === null) t.is(usage, undefined);
    else t.like(usage, dialect.usageSoFar);
  });

  test('an answer that ends in the middle of an event is an incomplete one', async (t) => {
    const { provider, job } = await setupWire(t, subject, halved(dialect, turnOf(subject)));
    const { error } = failureOf(await begin(provider, job).outcome);
    t.like(error, { class: 'server_error', code: 'incomplete_stream' });
  });

  test('an answer whose connection breaks is an incomplete one', async (t) => {
    const { provider, job } = await setupWire(t, subject, cut(dialect, turnOf(subject)));
    const { error, usage } = failureOf(await begin(provider, job).outcome);
    t.like(error, { class: 'server_error', code: 'incomplete_stream' });
    if (dialect.usageSoFar === null) t.is(usage, undefined);
    else t.like(usage, dialect.usageSoFar);
  });

  test('a connection that breaks before the answer is a failure of the network', async (t) => {
    const { server, provider, job } = await setupWire(t, subject, dropped);
    t.is(failureOf(await begin(provider, job).outcome).error.class, 'network');
    t.is(server.bodies.length, 1, 'nothing is tried again: it may be paid for');
  });

  test('an answer that switches to another protocol is a failure of the network', async (t) => {
    const { provider, job } = await setupWire(t, subject, switched);
    t.is(failureOf(await begin(provider, job).outcome).error.class, 'network');
  });

  // Alone: a connection is kept for four seconds.
  for (const [title, broken] of [
    ['is closed', dropped],
    ['is reset', reset],
  ] as const) {
    test.alone(
      `a request that was read is not sent again when the connection that was kept for it ${title}`,
      async (t) => {
        const ports: unknown[] = [];
        const answers = [whole(dialect, turnOf(subject)), broken];
        const { server, provider, job } = await setupWire(t, subject, async (exchange) => {
          await answers[ports.push(exchange.response.socket?.remotePort) - 1]?.(exchange);
        });
        t.true((await begin(provider, job).outcome).ok);
        await server.idle();
        // The end of the answer is read, and the connection is free.
        await nextTurn();
        await nextTurn();
        const { error } = failureOf(await begin(provider, job).outcome);
        t.is(error.class, 'network', error.message);
        t.is(ports[0], ports[1], 'the connection was kept');
        t.is(ports.length, 2, 'a second one might be paid for as well');
      },
    );
  }

  for (const [title, contentType, body] of [
    ['a page', 'text/html', '<!DOCTYPE html><html><body>Sign in to the network</body></html>'],
    ['a page that says it is a stream', dialect.contentType, '<!DOCTYPE html>\n\n<html>\n\n</html>\n\n'],
    ['nothing', dialect.contentType, ''],
    ['JSON that is no stream', 'application/json', '{"status":"ok"}'],
    ['an event that is no JSON', dialect.contentType, 'data: {"id":"chatcmpl-1","choices":[{"del\n\n'],
    ['an event of another form', dialect.contentType, 'data: {"foo":1}\n\ndata: [1]\n\ndata: null\n\n'],
    ['bytes', 'application/octet-stream', Buffer.from([0, 255, 254, 10, 10, 13, 0, 200])],
  ] as const) {
    test(`garbage with a 200 is a failure of the server: ${title}`, async (t) => {
      const { server, provider, job } = await setupWire(t, subject, garbage(contentType, body));
      const run = begin(provider, job);
      const { error } = failureOf(await run.outcome);
      t.is(error.class, 'server_error', error.message);
      t.true(
        error.code === 'malformed_stream' || error.code === 'incomplete_stream',
        `${error.code}: ${error.message}`,
      );
      t.deepEqual(run.pieces, []);
      await server.idle();
    });
  }

  test('an error with a 200 that says it is a stream is told as the error that it is', async (t) => {
    const answer = garbage(dialect.contentType, '{"error":"Rate limit exceeded, slow down"}');
    const { provider, job } = await setupWire(t, subject, answer);
    t.is(failureOf(await begin(provider, job).outcome).error.class, 'rate_limited');
  });

  test.alone('a process that stood still reads what has come before it gives up waiting', async (t) => {
    const idleMs = 1_000;
    const gate = Promise.withResolvers<void>();
    const { server, turn, job } = await setupWire(t, subject, async ({ asked, response }) => {
      const script = dialect.script(turn, asked.body);
      response.writeHead(200, { 'content-type': dialect.contentType });
      response.write(script.begin().join('') + script.text('first'));
      await gate.promise;
      response.end(script.text(' second') + script.end().join(''));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * idleMs);
    });
    const run = begin(subject.make(server.url, { timeouts: { ...timeouts, idleMs } }), job);
    await run.firstText;
    gate.resolve();
    t.is(resultOf(await run.outcome).output, 'first second');
  });

  test('a line without an end is not read without an end', async (t) => {
    const block = 'x'.repeat(megabyte);
    let sent = 0;
    const { server, provider, job } = await setupWire(t, subject, async ({ response, closed }) => {
      response.writeHead(200, { 'content-type': dialect.contentType });
      while (sent < 256 && !closed.aborted) {
        sent += 1;
        if (response.write(block)) continue;
        await once(response, 'drain', { signal: closed }).catch(() => {});
      }
      response.end();
    });
    const { error } = failureOf(await begin(provider, job).outcome);
    t.true(['server_error', 'invalid_request'].includes(error.class), error.message);
    await server.idle();
    t.true(sent < 64, `${sent} MiB of it were read`);
  });

  test('a server that is not there is a failure of the network, with its address', async (t) => {
    const gone = 'http://127.0.0.1:9';
    const { error } = failureOf(await begin(subject.make(gone), { model: subject.model }).outcome);
    t.like(error, { class: 'network', code: 'ECONNREFUSED' });
    t.regex(error.message, /127\.0\.0\.1:9/);
    if (apiKey !== null) t.false(error.message.includes(apiKey));
  });

  test('a server that speaks no TLS, or no HTTP, is told as such', async (t) => {
    const { server, job } = await setupWire(t, subject);
    const secure = subject.make(server.url.replace('http:', 'https:'));
    const noTls = failureOf(await begin(secure, job).outcome).error;
    t.like(noTls, { class: 'network', code: 'EPROTO' });
    t.regex(noTls.message, /it does not use TLS: should the address begin with http:\/\/ \(EPROTO\)$/);
    const other = createServer(
      (socket) => void socket.on('error', () => {}).end('220 mail.example ESMTP\r\n'),
    );
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    t.teardown(() => void other.close());
    const mail = subject.make(`http://127.0.0.1:${(other.address() as AddressInfo).port}`);
    const { error } = failureOf(await begin(mail, job).outcome);
    t.is(error.class, 'network', error.message);
    t.regex(error.message, /its answer is not HTTP \(HPE_|the connection broke off/);
  });

  test('a server that takes the request and says nothing is given up after the first wait', async (t) => {
    const { server, job } = await setupWire(t, subject, silent);
    const clock = new FakeClock();
    const run = begin(subject.make(server.url, { timeouts }), job, { clock });
    await server.askedFor(1);
    await clock.timerWithin(600_000);
    clock.advance(599_999);
    clock.advance(10_001);
    const { error } = failureOf(await run.outcome);
    t.is(error.class, 'timeout');
    t.regex(error.message, /nothing was answered within 600 s/);
    await server.idle();
    t.is(clock.untilNext, null, 'no timer is left');
  });

  test('an answer that stops coming is given up after the wait between tokens', async (t) => {
    const { server, turn, job } = await setupWire(t, subject, stalled(dialect, turnOf(subject)));
    const clock = new FakeClock();
    const run = begin(subject.make(server.url, { timeouts }), job, { clock });
    while (run.pieces.join('') !== turn.text.join('')) await new Promise((resolve) => setImmediate(resolve));
    await clock.timerWithin(60_000);
    clock.advance(60_001);
    const { error, usage } = failureOf(await run.outcome);
    t.is(error.class, 'timeout');
    t.regex(error.message, /nothing more came within 60 s/);
    if (dialect.usageSoFar === null) t.is(usage, undefined);
    else t.like(usage, dialect.usageSoFar);
    await server.idle();
    t.is(clock.untilNext, null, 'no timer is left');
  });

  test('an answer that goes on for longer than the whole may take is given up', async (t) => {
    const { server, job } = await setupWire(t, subject, stalled(dialect, turnOf(subject)));
    const clock = new FakeClock();
    const limits = { ...timeouts, idleMs: 1_000_000, totalMs: 90_000 };
    const run = begin(subject.make(server.url, { timeouts: limits }), job, { clock });
    await run.firstText;
    clock.advance(90_001);
    const { error } = failureOf(await run.outcome);
    t.is(error.class, 'timeout');
    t.regex(error.message, /within 90 s/);
    await server.idle();
  });

  test('a connection that is not made in time is given up', async (t) => {
    // It takes the connection and never answers the TLS hello.
    const deaf = createServer();
    deaf.listen(0, '127.0.0.1');
    await once(deaf, 'listening');
    t.teardown(() => void deaf.close());
    const clock = new FakeClock();
    const provider = subject.make(`https://127.0.0.1:${(deaf.address() as AddressInfo).port}`, { timeouts });
    const connected = once(deaf, 'connection');
    const run = begin(provider, { model: subject.model }, { clock });
    await connected;
    clock.advance(10_001);
    const { error } = failureOf(await run.outcome);
    t.is(error.class, 'network', error.message);
    t.regex(error.message, /no connection within 10 s/);
    t.is(clock.untilNext, null, 'no timer is left');
  });

  test('after a whole answer no timer is left', async (t) => {
    const { server, job } = await setupWire(t, subject, whole(dialect, turnOf(subject)));
    const clock = new FakeClock();
    const run = begin(subject.make(server.url, { timeouts }), job, { clock });
    t.true((await run.outcome).ok);
    t.is(clock.untilNext, null);
  });
}
