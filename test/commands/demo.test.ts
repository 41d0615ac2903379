import { readdir } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import test from 'ava';
import { demoCommand } from '../../src/commands/demo.ts';
import { demoJobs } from '../../src/commands/demoTexts.ts';
import { createProgram, runProgram } from '../../src/commands/program.ts';
import type { DispatchBody, WireJob } from '../../src/domain/wire/job.ts';
import { completedJob, serve, wireJob } from '../client/server.ts';
import { emptyFolder, svc, svcProcess } from './cli.ts';
import { fakeIo } from './screens.ts';

test('the demonstration has real texts with several priorities, tiers and tags', async (t) => {
  const jobs = await demoJobs();
  t.true(jobs.length >= 12 && jobs.length <= 16);
  for (const { input = '', prompt = '' } of jobs) {
    const words = input.split(/\s+/).length;
    t.true(words >= 80 && words <= 250, `${prompt}: ${words} words`);
  }
  const kinds = (pick: (job: DispatchBody) => unknown): number => new Set(jobs.map(pick)).size;
  t.is(
    kinds(({ priority }) => priority),
    5,
  );
  t.true(kinds(({ tier }) => tier) >= 3);
  t.true(new Set(jobs.flatMap(({ tags = [] }) => tags)).size >= 5);
  t.is(
    kinds(({ input }) => input),
    jobs.length,
  );
});

test('svc demo --once runs every job, prints what became of them and leaves nothing behind', async (t) => {
  const folder = await emptyFolder(t);
  const { code, stdout, stderr } = await svc(t, ['demo', '--once', '--port', '0'], {
    env: { TMPDIR: folder, NODE_DISABLE_COMPILE_CACHE: '1' },
  });
  t.is(code, 0, stderr);
  t.is(stderr, '');
  const table = stdout.slice(stdout.indexOf('\nID '));
  t.is(table.match(/^[0-9a-f]{8} .* completed /gm)?.length, 14);
  t.regex(table, /14 of 14 jobs completed in .*: \d+ tokens in, \d+ out, \$0\.\d+ at made-up prices/);
  t.notRegex(table, /http:/, 'an address that is gone with the command helps nobody');
  t.deepEqual(await readdir(folder), []);
});

/** Presses Ctrl-C once the demonstration says that it waits for that. */
function interruptAtEnd(): (text: string, kill: (signal: NodeJS.Signals) => void) => void {
  let isInterrupted = false;
  return (text, kill) => {
    if (isInterrupted || !text.includes('Ctrl-C ends the demo')) return;
    isInterrupted = true;
    kill('SIGINT');
  };
}

test('svc demo goes on until Ctrl-C and then leaves nothing behind', async (t) => {
  const folder = await emptyFolder(t);
  const { code, stdout } = await svcProcess(t, ['demo', '--port', '0'], {
    env: { TMPDIR: folder, NODE_DISABLE_COMPILE_CACHE: '1' },
    onOutput: interruptAtEnd(),
  });
  t.is(code, 0);
  t.regex(stdout, /14 of 14 jobs completed/);
  t.regex(stdout, /Dashboard {2}http:\/\/127\.0\.0\.1:\d+\/\n/);
  t.notRegex(stdout, /svc_admin/, 'a key is for a terminal only');
  t.regex(stdout, /Key file {3}.*admin\.key/);
  t.deepEqual(await readdir(folder), []);
});

test('svc demo takes another port when its own is taken', async (t) => {
  const taken = createServer();
  const isOurs = await new Promise<boolean>((resolve) => {
    taken.once('error', () => resolve(false));
    taken.listen(7420, '127.0.0.1', () => resolve(true));
  });
  if (isOurs) t.teardown(() => taken.close());
  const { code, stdout } = await svcProcess(t, ['demo'], { onOutput: interruptAtEnd() });
  t.is(code, 0);
  t.regex(stdout, /API +http:\/\/127\.0\.0\.1:\d+\/api\/jobs/);
  t.notRegex(stdout, /127\.0\.0\.1:7420/);
});

test('svc demo ends when the port that it is given is taken', async (t) => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  t.teardown(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const { code, stderr } = await svc(t, ['demo', '--port', String(port)]);
  t.is(code, 1);
  t.regex(stderr, new RegExp(`Port ${port} of 127\\.0\\.0\\.1 is taken`));
});

test('a demonstration in which a job fails ends with 1 and stops its service', async (t) => {
  const all: WireJob[] = [];
  const { url } = await serve(t, ({ method, body }) => {
    if (method === 'GET') return { json: { jobs: all, total: all.length, limit: 1000, offset: 0 } };
    const id = `01990000-0000-7000-8000-${String(all.length).padStart(12, '0')}`;
    all.push(all.length === 0 ? wireJob({ id, status: 'failed' }) : completedJob('x', { id }));
    return { status: 201, json: { ...wireJob({ id }), body } };
  });
  let isStopped = false;
  const { io, out, err } = fakeIo({ columns: 100 });
  const command = demoCommand(io, async ({ config, apiKey, echoWorker }) => {
    t.is(apiKey, null);
    t.is(echoWorker.concurrency, 3);
    t.truthy(config.pricing.echo);
    return {
      url,
      adminKey: 'svc_admin_0123456789',
      stop: async () => {
        isStopped = true;
      },
    };
  });
  const code = await runProgram(createProgram([command]), ['demo', '--once', '--port', '0'], io);
  t.is(code, 1);
  t.true(isStopped);
  t.regex(out(), /13 of 14 jobs completed/);
  t.regex(err(), /1 job did not complete/);
});
