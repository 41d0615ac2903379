/*
 * Measures a start from the journal alone: `node test/store/measureReplay.ts [records]`, 1,000,000 unless told, each a new
 * job with a prompt of 1 KB. So long a journal is what a coordinator leaves whose checkpoints have failed for hours: as a
 * rule a start replays at most some 160 MiB of it. Not a test: the figures are for docs/operations.md.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/lib/systemClock.ts';
import { encodeRecords } from '../../src/store/json/journal/encode.ts';
import { createJsonStore } from '../../src/store/json/jsonStore.ts';
import { journalName, layoutOf } from '../../src/store/json/layout.ts';
import { creation, headStart } from './jobs.ts';

const records = Number(process.argv[2] ?? 1_000_000);
const recordsPerWrite = 1_000;
const folder = await mkdtemp(join(tmpdir(), 'svc-replay-'));

const empty = createJsonStore({ path: folder, clock: systemClock, headStart });
await empty.open();
await empty.close();
const journal = await open(join(layoutOf(folder).journal, journalName(1)), 'w');
for (let seq = 1; seq <= records; seq += recordsPerWrite) {
  const texts: string[][] = [];
  for (let n = seq; n < Math.min(seq + recordsPerWrite, records + 1); n += 1) {
    const request = { prompt: `${n} `.padEnd(1024, 'the quick brown fox ') };
    const change = creation(`01890a5d-ac96-774b-bcce-${String(n).padStart(12, '0')}`, { request });
    texts.push([JSON.stringify(change)]);
  }
  await journal.writeFile(await encodeRecords(seq, texts));
}
const { size } = await journal.stat();
await journal.close();
process.stdout.write(`a journal of ${records} records, ${(size / 1e6).toFixed(0)} MB\n`);
const reopen = fileURLToPath(new URL('./reopen.ts', import.meta.url));
process.stdout.write(execFileSync(process.execPath, [reopen, folder], { encoding: 'utf8' }));
await rm(folder, { recursive: true });
