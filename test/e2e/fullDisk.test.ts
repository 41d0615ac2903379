import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import OpenAI, { toFile } from 'openai';
import { messageOf } from '../../src/domain/errors.ts';
import type { WireHealth } from '../../src/domain/wire/health.ts';
import type { WireJob } from '../../src/domain/wire/job.ts';
import { clientOf } from '../front/openai/support.ts';
import { answerTo, type HttpAnswer, problemOf } from '../support/e2eHttp.ts';
import { WorkerSocket } from '../support/e2eWorker.ts';
import { temporaryFolder } from '../support/folder.ts';
import { type Running, startCoordinator, until } from '../support/process.ts';
import { allJobs } from './history.ts';

const diskBytes = 8 * 1024 * 1024;
const ballastBytes = 2 * 1024 * 1024;
/** Characters of input, until not even a small job finds room. */
const fillers = [200_000, 20_000, 2_000, 0];
/** Nobody beats here, and nobody is missed. */
const config = { jobs: { heartbeat_interval_seconds: 60, reap_stale_after_seconds: 0 } };

/** Why no small file system can be mounted here; null when it can. */
const trouble = ((): string | null => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-mount-'));
  try {
    mount(folder);
    execFileSync('umount', [folder], { stdio: 'pipe' });
    return null;
  } catch (error) {
    return messageOf(error).split('\n').join(' ').trim();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
})();
const onSmallDisk = trouble === null ? test.serial : test.serial.skip;
const because = trouble === null ? '' : ` (skipped: mounting a tmpfs needs root; ${trouble})`;

function mount(folder: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'tmpfs', folder], { stdio: 'pipe' });
}

interface Disk {
  /** For the store. */
  folder: string;
  /** Give back 2 MiB. */
  makeRoom(): void;
}

/** A file system of 8 MiB with 2 MiB of ballast on it, gone when the test ends. */
function smallDisk(t: ExecutionContext): Disk {
  const folder = temporaryFolder(t);
  mount(folder);
  t.teardown(() => execFileSync('umount', [folder]));
  const ballast = join(folder, 'ballast');
  writeFileSync(ballast, Buffer.alloc(ballastBytes, 1));
  return { folder: join(folder, 'data'), makeRoom: () => rmSync(ballast) };
}

function dispatch(port: number, name: string, provider = 'nobody', characters = 0): Promise<HttpAnswer> {
  const input = 'x'.repeat(characters);
  const body = JSON.stringify({ prompt: 'Fill the disk', input, provider, metadata: { name } });
  return answerTo(port, { method: 'POST', path: '/api/jobs', body });
}

/** Dispatch until not even a small job finds room. @returns the acknowledged jobs, and the last refusal. */
async function fill(port: number): Promise<{ acknowledged: WireJob[]; refusal: HttpAnswer }> {
  const acknowledged: WireJob[] = [];
  let refusal: HttpAnswer | null = null;
  for (const characters of fillers) {
    for (let i = 0; ; i += 1) {
      const answer = await dispatch(port, `filler-${characters}-${i}`, 'nobody', characters);
      if (answer.status !== 201) {
        refusal = answer;
        break;
      }
      acknowledged.push(answer.json as WireJob);
    }
  }
  if (refusal === null) throw new Error('nothing was refused');
  return { acknowledged, refusal };
}

async function health({ port }: Running): Promise<WireHealth> {
  return (await answerTo(port, { path: '/health' })).json as WireHealth;
}

function idsOf(jobs: readonly WireJob[]): string[] {
  return jobs.map(({ id }) => id).sort();
}

onSmallDisk(`a full disk refuses, keeps what it promised, and is over by itself${because}`, async (t) => {
  t.timeout(120_000);
  const disk = smallDisk(t);
  const coordinator = await startCoordinator(t, { folder: disk.folder, config });
  const { port, process } = coordinator;
  const worker = await WorkerSocket.join(t, coordinator.url);
  const first = (await dispatch(port, 'first', 'echo')).json as WireJob;
  const assigned = await worker.job();
  const { acknowledged, refusal } = await fill(port);
  t.true(acknowledged.length > 20, `${acknowledged.length} fillers`);
  t.is(refusal.status, 503);
  t.is(problemOf(refusal).code, 'store_unavailable');
  t.regex(String(refusal.headers['retry-after']), /^[1-9]\d*$/);
  t.like(await health(coordinator), { status: 'degraded', store: 'failing' });
  t.is((await answerTo(port, { path: '/health?ready=1' })).status, 503);

  t.is((await answerTo(port, { path: `/api/jobs/${first.id}` })).status, 200);
  t.deepEqual(idsOf(await allJobs(port)), idsOf([first, ...acknowledged]));
  const cancel = await answerTo(port, { method: 'POST', path: `/api/jobs/${acknowledged[0]?.id}/cancel` });
  t.true([200, 503].includes(cancel.status), `${cancel.status}`);

  const output = 'a result that must not be lost '.repeat(1000);
  worker.complete(assigned, output);
  await process.says(/outcome not durable yet/);
  t.deepEqual(worker.of('ack'), []);
  t.is((await coordinator.client.job(first.id)).status, 'running');
  disk.makeRoom();
  t.like(await worker.frame('ack'), { job_id: first.id, lease: 1, accepted: true });
  t.is((await coordinator.client.job(first.id)).result?.output, output);
  const later = await until('a job is taken again', async () => {
    const answer = await dispatch(port, 'later');
    return answer.status === 201 ? (answer.json as WireJob) : null;
  });
  t.is((await health(coordinator)).status, 'ok');

  const before = await allJobs(port);
  t.deepEqual(idsOf(before), idsOf([first, ...acknowledged, later]));
  await process.kill();
  const again = await coordinator.again();
  t.deepEqual(await allJobs(again.port), before);
  t.notRegex(process.said(), /^\s+at /m);
});

onSmallDisk(
  `a coordinator that is killed on a full disk starts on it again, with all that it promised${because}`,
  async (t) => {
    t.timeout(120_000);
    const disk = smallDisk(t);
    const coordinator = await startCoordinator(t, { folder: disk.folder, config });
    const { acknowledged } = await fill(coordinator.port);
    await coordinator.process.kill();
    const again = await coordinator.again();
    t.deepEqual(idsOf(await allJobs(again.port)), idsOf(acknowledged));
    const refusal = await dispatch(again.port, 'too much', 'nobody', 20_000);
    t.is(problemOf(refusal).code, 'store_unavailable');
    disk.makeRoom();
    await until('a job is taken again', async () => (await dispatch(again.port, 'later')).status === 201);
    const { status } = await until('the health is ok', async () => {
      const now = await health(again);
      return now.status === 'ok' ? now : null;
    });
    t.is(status, 'ok');
  },
);

onSmallDisk(
  `a full disk refuses an upload, keeps nothing of it, and takes it when there is room${because}`,
  async (t) => {
    const disk = smallDisk(t);
    const coordinator = await startCoordinator(t, { folder: disk.folder, config });
    const openai = clientOf(coordinator.url);
    const upload = async (bytes: number) =>
      openai.files.create({ file: await toFile(Buffer.alloc(bytes, 1), 'a.jsonl'), purpose: 'batch' });
    const error = await t.throwsAsync(upload(diskBytes), { instanceOf: OpenAI.InternalServerError });
    t.like(error, { status: 503, code: 'store_unavailable' });
    t.regex(error?.message ?? '', /disk of the data folder is full/);
    t.deepEqual(readdirSync(join(disk.folder, 'files')), []);
    // The journal has its room again.
    t.is((await dispatch(coordinator.port, 'later')).status, 201);
    disk.makeRoom();
    const { id } = await upload(ballastBytes * 2);
    t.is((await openai.files.retrieve(id)).bytes, ballastBytes * 2);
    t.notRegex(coordinator.process.said(), /^\s+at /m);
  },
);
