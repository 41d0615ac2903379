import test, { type ExecutionContext } from 'ava';
import type OpenAI from 'openai';
import { answersOf, begun, inState, linesOf } from '../front/openai/batches.ts';
import { clientOf } from '../front/openai/support.ts';
import { depth } from '../support/depth.ts';
import { type Running, startCoordinator, startWorker, until } from '../support/process.ts';

/** Enough that each state lasts for some looks at it. */
const lines = depth(3_000, 20_000);

/** Every ninth line fails. */
const text = linesOf(lines, (place) => (place % 9 === 0 ? { echo_fail: 'invalid_request' } : {}));

interface Alive {
  running: Running;
  openai: OpenAI;
}

/** A coordinator with two workers of one provider. */
async function start(t: ExecutionContext): Promise<Alive> {
  const running = await startCoordinator(t, { config: { jobs: { max_attempts: 1 } } });
  for (const name of ['one', 'two']) startWorker(t, running, ['--name', name, '--concurrency', '50']);
  const openai = clientOf(running.url);
  await until('a worker has come', async () =>
    (await openai.models.list()).data.some(({ owned_by: owner }) => owner === 'echo'),
  );
  return { running, openai };
}

async function killed(running: Running): Promise<Alive> {
  await running.process.kill();
  const again = await running.again();
  return { running: again, openai: clientOf(again.url) };
}

/** Each line is in exactly one of the files, once, with what an undisturbed batch would say. */
async function checkAnswers(t: ExecutionContext, openai: OpenAI, batch: OpenAI.Batch): Promise<void> {
  const { output, errors, ids } = await answersOf(openai, batch);
  t.is(ids.length, lines);
  t.is(new Set(ids).size, lines);
  const wrong = output.filter(
    ({ custom_id: id, response }) =>
      Number(id.slice(1)) % 9 === 0 ||
      response?.body.choices[0]?.message.content?.includes(`Say ${id}"`) !== true,
  );
  t.deepEqual(wrong, []);
  const failed = errors.filter(({ response }) => response !== null);
  t.true(
    failed.every(
      ({ custom_id: id, response }) => Number(id.slice(1)) % 9 === 0 && response?.status_code === 400,
    ),
  );
  const { completed, failed: count, total } = batch.request_counts ?? {};
  t.deepEqual([completed, count, total], [output.length, failed.length, lines]);
}

test('a batch that is killed while its file is read, while it runs and while its files are written ends as another does', async (t) => {
  let { running, openai } = await start(t);
  const batch = await begun(openai, text);
  ({ running, openai } = await killed(running));
  const isBefore = (await openai.batches.retrieve(batch.id)).status;
  t.true(['validating', 'in_progress'].includes(isBefore), isBefore);

  await until('a third has ended', async () => {
    const { request_counts: counts } = await openai.batches.retrieve(batch.id);
    return (counts?.completed ?? 0) > lines / 3;
  });
  ({ running, openai } = await killed(running));
  t.is((await openai.batches.retrieve(batch.id)).status, 'in_progress');

  const { status } = await inState(openai, batch, ['finalizing', 'completed']);
  ({ running, openai } = await killed(running));
  const ended = await inState(openai, batch);
  t.is(ended.status, 'completed');
  t.log(`the last kill came while it was ${status}`);
  await checkAnswers(t, openai, ended);
  // What was written is not written again, nor is anything left of an attempt.
  t.is((await openai.files.list({ purpose: 'batch_output' })).data.length, 2);
  ({ running, openai } = await killed(running));
  t.deepEqual(await openai.batches.retrieve(batch.id), ended);
  await checkAnswers(t, openai, ended);
});

test('a batch that is killed while it is cancelled is cancelled, with each line once', async (t) => {
  let { running, openai } = await start(t);
  const batch = await begun(openai, text);
  await until('some have ended', async () => {
    const { request_counts: counts } = await openai.batches.retrieve(batch.id);
    return (counts?.completed ?? 0) > lines / 10;
  });
  t.is((await openai.batches.cancel(batch.id)).status, 'cancelling');
  ({ running, openai } = await killed(running));
  const ended = await inState(openai, batch);
  t.is(ended.status, 'cancelled');
  const { errors } = await answersOf(openai, ended);
  t.true(errors.some(({ error }) => error?.code === 'batch_cancelled'));
  await checkAnswers(t, openai, ended);
});
