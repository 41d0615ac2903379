import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { answerTo } from '../support/e2eHttp.ts';
import { WorkerSocket } from '../support/e2eWorker.ts';
import { temporaryFolder } from '../support/folder.ts';
import { adminKey, type Running, SvcProcess, startCoordinator, until } from '../support/process.ts';

/** Words that stand nowhere else, one for each kind of content. */
const content = {
  prompt: 'canary-of-the-prompt',
  input: 'canary-of-the-input',
  metadata: 'canary-of-the-metadata',
  params: 'canary-of-the-params',
  output: 'canary-of-the-output',
};
const providerKey = 'canary-of-a-provider-key';
const guess = 'svc_admin_0123456789abcdef_canary-of-a-wrong-key';

const jobs = { heartbeat_interval_seconds: 60, reap_stale_after_seconds: 0 };
const contents = Object.values(content);

function lacks(t: ExecutionContext, where: string, text: string, words: readonly string[]): void {
  for (const word of words) t.false(text.includes(word), `${where} has ${word}`);
}

/** Every file below a folder, but for sockets. */
function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => lstatSync(path).isFile());
}

function dispatch({ port }: Running, more: object = {}) {
  const { prompt, input, metadata, params } = content;
  const body = JSON.stringify({
    prompt,
    input,
    provider: 'echo',
    metadata: { a: metadata },
    params: { stop: params },
    ...more,
  });
  return answerTo(port, { method: 'POST', path: '/api/jobs', body });
}

for (const level of ['info', 'trace']) {
  test.serial(`no key and no content is in logs, metrics or errors, at the level ${level}`, async (t) => {
    const coordinator = await startCoordinator(t, { config: { jobs, log: { level } } });
    const { port, process, folder } = coordinator;
    const made = await answerTo(port, {
      method: 'POST',
      path: '/api/keys',
      body: JSON.stringify({ role: 'worker', name: 'canary' }),
    });
    const { key, id: keyId } = made.json as { key: string; id: string };
    const secret = key.split('_').at(-1)?.slice(0, 40) ?? '';
    const ticket = (await answerTo(port, { method: 'POST', path: '/api/tickets' })).json as {
      ticket: string;
    };
    const session = (await answerTo(port, { method: 'POST', path: '/api/sessions' })).json as { key: string };
    const sessionSecret = session.key.split('_').at(-1)?.slice(0, 40) ?? '';
    const secrets = [adminKey, key, secret, ticket.ticket, session.key, sessionSecret, guess];
    const errors: string[] = [];
    const ask = async (asked: Parameters<typeof answerTo>[1]) => {
      const answer = await answerTo(port, asked);
      t.true(answer.status >= 400, `${asked.path}: ${answer.status}`);
      errors.push(answer.text, JSON.stringify(answer.headers));
    };

    const worker = await WorkerSocket.join(t, coordinator.url);
    const { id } = (await dispatch(coordinator)).json as { id: string };
    worker.complete(await worker.job(), content.output);
    await worker.frame('ack');
    await dispatch(coordinator);
    const failing = await worker.job(2);
    const { job_id, lease } = failing;
    worker.send({
      type: 'fail',
      job_id,
      lease,
      error: { class: 'invalid_request', message: 'the provider refused it', status: 400 },
    });
    await worker.frame('ack', 2);
    worker.raw(`{"type":"chunk","job_id":"${id}","lease":1,"seq":"${content.output}","text":7}`);
    await worker.frame('error');

    // What goes wrong with content in it.
    for (const field of Object.keys(content).filter((name) => name !== 'output')) {
      await ask({
        method: 'POST',
        path: '/api/jobs',
        body: JSON.stringify({ prompt: content.prompt, [field]: [7] }),
      });
    }
    await ask({ method: 'POST', path: '/api/jobs', body: `{"prompt":"${content.prompt}"` });
    await ask({
      method: 'POST',
      path: '/api/jobs/batch',
      body: `{"jobs":[{"prompt":"${content.prompt}","x":1}]}`,
    });
    await ask({ method: 'POST', path: `/api/jobs/${id}/cancel` });
    for (const authorization of [
      `Bearer ${guess}`,
      `Bearer ${key}x`,
      `Basic ${key}`,
      `Bearer ${adminKey} x`,
    ]) {
      await ask({ path: '/api/jobs', headers: { authorization } });
    }
    await ask({ path: '/api/events?ticket=canary-of-a-ticket', headers: { authorization: '' } });
    await ask({ path: '/api/keys', headers: { authorization: `Bearer ${key}` } });
    await ask({ method: 'DELETE', path: `/api/keys/${adminKey.slice(0, 8)}` });

    lacks(t, 'an error', errors.join('\n'), [...secrets, ...contents, 'canary-of-a-ticket']);
    const { text: metrics } = await answerTo(port, { path: '/metrics' });
    lacks(t, 'the metrics', metrics, [...secrets, ...contents]);
    for (const path of [
      '/api/stats',
      '/api/workers',
      '/api/providers',
      '/api/machines',
      '/api/config',
      '/health',
    ]) {
      lacks(t, path, (await answerTo(port, { path })).text, [...secrets, ...contents]);
    }
    const { text: keys } = await answerTo(port, { path: '/api/keys' });
    t.true(keys.includes(keyId));
    lacks(t, 'the list of keys', keys, [...secrets, ...contents]);
    // The list leaves out what may be long, and the job has it: whoever may read, reads it there.
    const { text: whole } = await answerTo(port, { path: `/api/jobs/${id}` });
    for (const word of contents) t.true(whole.includes(word), word);

    process.signal('SIGTERM');
    await process.exited;
    const log = process.out + process.err;
    t.true(log.includes('worker connected') || level === 'warn');
    lacks(t, 'the log', log, [...secrets, ...contents, 'canary-of-a-ticket']);
    const stored = filesOf(folder).map((path) => readFileSync(path, 'latin1'));
    t.true(
      stored.some((text) => text.includes(content.prompt)),
      'the store has the job',
    );
    lacks(t, 'the data folder', stored.join('\n'), secrets);
  });
}

test.serial('a worker tells neither its key, nor the key of a provider, nor what it works on', async (t) => {
  const coordinator = await startCoordinator(t, { config: { log: { level: 'trace' } } });
  const args = ['worker', '--provider', 'echo', '--coordinator', coordinator.url];
  const env = { SVC_API_KEY: adminKey, SVC_LOG_LEVEL: 'trace', OPENAI_API_KEY: providerKey };
  const worker = new SvcProcess(args, { cwd: temporaryFolder(t), env });
  t.teardown(() => worker.kill());
  const done = (await dispatch(coordinator)).json as { id: string };
  // As providers do, it says in its refusal what it was asked.
  const echo_fail = { class: 'invalid_request', message: `cannot answer: ${content.prompt}` };
  const failed = (await dispatch(coordinator, { params: { stop: content.params, echo_fail } })).json as {
    id: string;
  };
  for (const [id, end] of [
    [done.id, 'completed'],
    [failed.id, 'failed'],
  ] as const) {
    await until(`the job is ${end}`, async () => (await coordinator.client.job(id)).status === end);
  }
  t.regex((await coordinator.client.job(failed.id)).error?.message ?? '', /cannot answer/);
  worker.signal('SIGTERM');
  await worker.exited;
  coordinator.process.signal('SIGTERM');
  await coordinator.process.exited;
  const said = worker.out + worker.err;
  t.true(said.length > 0);
  lacks(t, 'the log of the worker', said, [adminKey, providerKey, ...contents]);
  const log = coordinator.process.out + coordinator.process.err;
  lacks(t, 'the log of the coordinator', log, [adminKey, providerKey, ...contents]);
  const stored = filesOf(coordinator.folder).map((path) => readFileSync(path, 'latin1'));
  lacks(t, 'the data folder', stored.join('\n'), [adminKey, providerKey]);
});

test.serial('nobody else on the machine can read what is in the data folder', async (t) => {
  const folder = join(temporaryFolder(t), 'data');
  const coordinator = await startCoordinator(t, { folder, config: { jobs } });
  t.is((await dispatch(coordinator)).status, 201);
  coordinator.process.signal('SIGTERM');
  await coordinator.process.exited;
  t.is(statSync(folder).mode & 0o777, 0o700);
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
  t.true(paths.length > 2);
  for (const path of paths) {
    const stat = lstatSync(path);
    if (stat.isSocket()) continue;
    t.is(stat.mode & 0o777, stat.isDirectory() ? 0o700 : 0o600, path);
  }
});
