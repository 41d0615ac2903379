import test from 'ava';
import { adminKey, startLongJob } from '../support/process.ts';
import { svcProcess } from './cli.ts';

test('a job that runs is watched over a restart of the coordinator, a line for each state, without its output', async (t) => {
  const { id, ...first } = await startLongJob(t);
  let restarted: Promise<unknown> | null = null;
  const { code, stdout, stderr } = await svcProcess(t, ['jobs', 'watch', id, '--url', first.url], {
    env: { SVC_API_KEY: adminKey },
    onOutput: (text) => {
      if (!text.includes('running')) return;
      restarted ??= first.process
        .kill()
        .then(() => first.again())
        .then(({ client }) => client.cancel(id));
    },
  });
  await restarted;
  t.is(code, 1);
  t.is(stderr, `error: job ${id} was cancelled\n`);
  const states = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/\s+/)[1]);
  t.is(states.at(-1), 'cancelled');
  t.true(states.includes('running'));
  t.notRegex(stdout, /word/);
});
