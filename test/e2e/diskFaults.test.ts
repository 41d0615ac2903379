import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { exitCodes } from '../../src/commands/exit.ts';
import type { WireJob } from '../../src/domain/wire/job.ts';
import { faultsTrouble, injectFaults } from '../support/diskFaults.ts';
import { answerTo, problemOf } from '../support/e2eHttp.ts';
import { type Running, startCoordinator, until, within } from '../support/process.ts';
import { allJobs } from './history.ts';

const onFaults = faultsTrouble === null ? test : test.skip;
const because =
  faultsTrouble === null ? '' : ` (skipped: it needs strace and the right to trace; ${faultsTrouble})`;
const clients = 8;

/** Writes to the journal are durable by themselves (O_DSYNC), so an error of the disk comes with the write. */
const finalFaults: { what: string; faults: string[] }[] = [
  { what: 'cannot be written (EIO)', faults: ['pwrite64:error=EIO'] },
  {
    what: 'is full (ENOSPC) and then fails while the refused write is cut off (EIO)',
    faults: ['pwrite64:error=ENOSPC', 'fdatasync:error=EIO'],
  },
];

/** What clients were told, by the status: ids of acknowledged jobs, and the codes of refusals. */
interface Told {
  acknowledged: string[];
  refused: string[];
}

async function dispatch(port: number, told: Told): Promise<void> {
  const body = JSON.stringify({ prompt: 'Hello', provider: 'nobody' });
  const answer = await answerTo(port, { method: 'POST', path: '/api/jobs', body });
  if (answer.status === 201) told.acknowledged.push((answer.json as WireJob).id);
  else told.refused.push(problemOf(answer).code);
}

/** A crowd that dispatches until the process has ended or `isOver`. */
async function crowd({ port, process }: Running, told: Told, isOver: () => boolean): Promise<void> {
  const one = async () => {
    // A connection that is cut off has told nothing.
    while (process.exit === null && !isOver()) await dispatch(port, told).catch(() => {});
  };
  await Promise.all(Array.from({ length: clients }, one));
}

async function failJournal(t: ExecutionContext, coordinator: Running, faults: string[]): Promise<void> {
  const [name = ''] = await readdir(join(coordinator.folder, 'journal'));
  await injectFaults(t, coordinator.process.pid, faults, join(coordinator.folder, 'journal', name));
}

async function idsIn({ port }: Running): Promise<string[]> {
  return (await allJobs(port)).map(({ id }) => id).sort();
}

for (const { what, faults } of finalFaults) {
  onFaults(
    `a journal that ${what} ends the process, and the next start has what was acknowledged${because}`,
    async (t) => {
      t.timeout(120_000);
      const coordinator = await startCoordinator(t);
      const told: Told = { acknowledged: [], refused: [] };
      for (let i = 0; i < 20; i += 1) await dispatch(coordinator.port, told);
      await failJournal(t, coordinator, faults);
      const before = told.acknowledged.length;
      const crowding = crowd(coordinator, told, () => false);
      const { code, signal } = await within('the process ends', coordinator.process.exited);
      await crowding;
      t.deepEqual({ code, signal }, { code: exitCodes.failed, signal: null });
      t.is(told.acknowledged.length, before, 'nothing is acknowledged that is not on the disk');
      t.true(told.refused.every((each) => each === 'store_unavailable'));
      t.regex(coordinator.process.err, /The store has failed, no more changes are acknowledged: .*EIO/);
      t.notRegex(coordinator.process.said(), /^\s+at /m);
      const again = await coordinator.again();
      t.deepEqual(await idsIn(again), told.acknowledged.toSorted());
      await dispatch(again.port, told);
      t.is(told.acknowledged.length, before + 1);
    },
  );
}

onFaults(
  `a journal without room (ENOSPC) refuses for as long as that lasts, and loses nothing${because}`,
  async (t) => {
    t.timeout(120_000);
    const coordinator = await startCoordinator(t);
    const told: Told = { acknowledged: [], refused: [] };
    for (let i = 0; i < 20; i += 1) await dispatch(coordinator.port, told);
    await failJournal(t, coordinator, ['pwrite64:error=ENOSPC:when=1..10']);
    const before = told.acknowledged.length;
    let isOver = false;
    const crowding = crowd(coordinator, told, () => isOver);
    await until('jobs are taken again', () => told.acknowledged.length > before + 20);
    isOver = true;
    await crowding;
    t.true(told.refused.length >= 10, `${told.refused.length} refusals`);
    t.deepEqual([...new Set(told.refused)], ['store_unavailable']);
    await coordinator.process.kill();
    const again = await coordinator.again();
    t.deepEqual(await idsIn(again), told.acknowledged.toSorted());
  },
);
