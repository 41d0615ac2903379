import { createWriteStream, readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import test from 'ava';
import { serve } from '../../client/server.ts';
import { isThorough } from '../../support/depth.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { startSvc, until } from '../../support/process.ts';
import { wireRun } from './wireRun.ts';

const lines = 200_000;
const text = 'some words of a body that goes on '.repeat(30);

const answerTo = (id: string) => ({
  line_id: id,
  job_id: id,
  status: 'completed',
  output: text,
  error: null,
});

/** Bytes of memory that a process has used at most. */
const peakOf = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

(isThorough ? test : test.skip)('a file of 200 MB is sent and answered in bounded memory', async (t) => {
  t.timeout(600_000);
  const folder = temporaryFolder(t);
  const file = join(folder, 'large.csv');
  await pipeline(async function* () {
    yield 'id,title,body\n';
    for (let line = 0; line < lines; line += 1) yield `d${line},T${line},"${text}"\n`;
  }, createWriteStream(file));
  t.true((await stat(file)).size > 200_000_000);
  let sent = 0;
  let peak = 0;
  let pid = 0;
  const { url } = await serve(t, ({ path, body }) => {
    if (pid > 0) peak = Math.max(peak, peakOf(pid));
    if (path === '/api/jobs') return { json: { jobs: [], total: 0, limit: 1, offset: 0 } };
    if (path.endsWith('/jobs')) {
      const { length } = body as object[];
      sent += length;
      return { json: { created: length, known: 0 } };
    }
    if (path.endsWith('/results')) {
      const { line_ids: ids } = body as { line_ids: string[] };
      return (response) => response.end(ids.map((id) => `${JSON.stringify(answerTo(id))}\n`).join(''));
    }
    const counts = { total: sent, completed: sent, pending: 0, running: 0, failed: 0, cancelled: 0 };
    return { json: wireRun({ name: 'large', status: 'completed', counts }) };
  });
  const args = ['--file', file, '--id-column', 'id', '--template', '{{title}}: {{body}}', '--run', 'large'];
  const svc = startSvc(t, ['run', ...args, '--output', join(folder, 'out.ndjson'), '--url', url]);
  pid = svc.pid;
  await until('it has ended', () => svc.exit !== null, 500_000);
  t.is(svc.exit?.code, 0, svc.said());
  t.is(sent, lines);
  t.log(`at most ${Math.round(peak / 1e6)} MB`);
  t.true(peak < 600_000_000, `${peak}`);
});
