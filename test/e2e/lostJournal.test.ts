import { cp, readdir, readFile, rename, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { exitCodes } from '../../src/commands/exit.ts';
import { answerTo } from '../support/e2eHttp.ts';
import { startCoordinator, until } from '../support/process.ts';

/** One look a second, and the end of the process; more than that only for a busy machine. */
const noticedMs = 3_000;
const clients = 4;

/** What somebody else does to the data of a running coordinator, and what it says of it. */
const harms: { what: string; says: RegExp; do(journal: string, folder: string): Promise<void> }[] = [
  { what: 'is emptied', says: /was cut at byte \d+ or before/, do: (journal) => truncate(journal) },
  {
    what: 'goes with the data folder',
    says: /or a folder above it was removed or renamed/,
    // The coordinator may be making a file in it.
    do: (_, folder) => rm(folder, { recursive: true, force: true, maxRetries: 10 }),
  },
  {
    what: 'is replaced by a copy from a backup',
    says: /was replaced by another file/,
    do: async (journal) => {
      await cp(journal, `${journal}.restored`);
      await rename(`${journal}.restored`, journal);
    },
  },
];

for (const { what, says, do: harm } of harms) {
  for (const isBusy of [true, false]) {
    const when = isBusy ? 'under load' : 'while nothing is written';
    test(`${when}, a journal that ${what} ends the process within seconds, with the reason`, async (t) => {
      const { port, process, folder } = await startCoordinator(t);
      /** When each dispatch was acknowledged. */
      const acknowledged: number[] = [];
      const dispatch = async (): Promise<void> => {
        const body = JSON.stringify({ prompt: 'Hello', provider: 'nobody' });
        const { status } = await answerTo(port, { method: 'POST', path: '/api/jobs', body });
        if (status === 201) acknowledged.push(performance.now());
      };
      for (let i = 0; i < 5; i += 1) await dispatch();
      const crowd = Array.from({ length: isBusy ? clients : 0 }, async () => {
        // A connection that is cut off is the end.
        while (process.exit === null) await dispatch().catch(() => {});
      });
      await until('the load is on', () => !isBusy || acknowledged.length > 50);
      const [name = ''] = await readdir(join(folder, 'journal'));
      const journal = join(folder, 'journal', name);
      await harm(journal, folder);
      const harmedAt = performance.now();
      const { code } = await process.exited;
      await Promise.all(crowd);
      t.is(code, exitCodes.dataDamaged);
      t.regex(process.err, /The store has failed, no more changes are acknowledged/);
      t.true(process.err.includes(journal), process.err);
      t.regex(process.err, says);
      t.regex(process.err, /docs\/operations\.md/);
      t.notRegex(process.said(), /^\s+at /m);
      const last = acknowledged.at(-1) ?? 0;
      t.true(last - harmedAt < noticedMs, `still acknowledged ${last - harmedAt} ms later`);
    });
  }
}

test('the documented unit does not start on a data folder that was damaged', async (t) => {
  const unit = await readFile(
    join(import.meta.dirname, '../../docs/install/svc-coordinator.service'),
    'utf8',
  );
  t.regex(unit, /^Restart=on-failure$/m);
  t.regex(unit, new RegExp(`^RestartPreventExitStatus=.*\\b${exitCodes.dataDamaged}\\b`, 'm'));
});
