import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import test from 'ava';
import { toFile } from 'openai';
import { formEnd, uploading } from '../front/openai/forms.ts';
import { clientOf } from '../front/openai/support.ts';
import { startCoordinator, until } from '../support/process.ts';

const stored = ({ folder }: { folder: string }): string[] => readdirSync(join(folder, 'files'));

/** The most memory that a process has had. */
const peakOf = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('200 MB go up and down, and the memory of the coordinator does not grow with them', async (t) => {
  const running = await startCoordinator(t);
  const { pid } = running.process;
  const before = peakOf(pid);
  const piece = randomBytes(1_000_000);
  const count = 200;
  const { request, answer } = uploading(running);
  await pipeline(Readable.from(Array<Buffer>(count).fill(piece)), request, { end: false });
  request.end(formEnd);
  t.is(await answer, 200);
  const openai = clientOf(running.url);
  const [file] = (await openai.files.list()).data;
  t.is(file?.bytes, count * piece.length);
  const content = await openai.files.content(file?.id ?? '');
  let read = 0;
  for await (const chunk of content.body ?? []) {
    const at = read % piece.length;
    const first = Math.min(chunk.length, piece.length - at);
    if (!piece.subarray(at, at + first).equals(chunk.subarray(0, first))) t.fail(`byte ${read} is another`);
    read += chunk.length;
  }
  t.is(read, count * piece.length);
  const grown = peakOf(pid) - before;
  // Mostly buffers that wait for the garbage collector: some 75 MB, as for 400 MB.
  t.true(grown < 130e6, `${Math.round(grown / 1e6)} MB more`);
});

test('an upload that was answered survives kill -9; of one that was not nothing remains', async (t) => {
  const first = await startCoordinator(t);
  const bytes = randomBytes(300_000);
  const half = uploading(first);
  half.request.write(bytes);
  await until('the upload has begun', () => stored(first).length === 1);
  const { id } = await clientOf(first.url).files.create({
    file: await toFile(bytes, 'a.jsonl'),
    purpose: 'batch',
  });
  await first.process.kill();
  const second = await first.again();
  t.is(stored(second).length, 1);
  const openai = clientOf(second.url);
  t.deepEqual(
    (await openai.files.list()).data.map((file) => file.id),
    [id],
  );
  t.true(Buffer.from(await (await openai.files.content(id)).arrayBuffer()).equals(bytes));
  await openai.files.delete(id);
  await second.process.kill();
  const third = await second.again();
  t.deepEqual(stored(third), []);
  t.deepEqual((await clientOf(third.url).files.list()).data, []);
});
