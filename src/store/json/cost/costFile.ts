/* The files of cost, one a month, and how a checkpoint writes changed months under new names. They count once a
   manifest names them. */

import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { Low } from 'lowdb';
import { messageOf } from '../../../domain/errors.ts';
import { CostMonth, type CostSink, monthOf, type StoredMonth } from '../../changes/costMonth.ts';
import type { LedgerEntry } from '../../store.ts';
import { type CostEntry, whatToDo } from '../checkpoint/manifest.ts';
import { replaceFile } from '../durableFile.ts';
import { StoreCorrupt } from '../errors.ts';
import { type Files, readWhole, writeAll } from '../files.ts';
import { hex } from '../journal/record.ts';
import { costName } from '../layout.ts';

/**
 * A lowdb adapter for a month of cost: `read` returns the contents of the current file, `write` creates a new file,
 * which does not count until a manifest names it.
 */
class CostFile {
  /** Length and checksum of the new file; null before. */
  written: { bytes: number; sum: string } | null = null;
  readonly #files: Files;
  readonly #folder: string;
  readonly #from: CostEntry | null;
  readonly #to: string | null;

  /** @param from the current month, null for a new one. @param to name of the file to write, null to write none. */
  constructor(files: Files, folder: string, from: CostEntry | null, to: string | null) {
    this.#files = files;
    this.#folder = folder;
    this.#from = from;
    this.#to = to;
  }

  async read(): Promise<StoredMonth | null> {
    if (this.#from === null) return null;
    const { file, bytes, sum } = this.#from;
    const path = join(this.#folder, file);
    const found = await readWhole(this.#files, path);
    if (found === null)
      throw new StoreCorrupt(path, 0, `coordinator.json names it and it is missing; ${whatToDo}`);
    if (found.length !== bytes || hex(crc32(found)) !== sum) {
      const what = 'its length or checksum is not what coordinator.json says';
      throw new StoreCorrupt(path, Math.min(found.length, bytes), `${what}; ${whatToDo}`);
    }
    return JSON.parse(found.toString('utf8'));
  }

  async write(month: StoredMonth): Promise<void> {
    if (this.#to === null) throw new Error('this month is only read');
    const bytes = Buffer.from(`${JSON.stringify(month)}\n`);
    await replaceFile(this.#files, join(this.#folder, this.#to), (file) => writeAll(file, bytes, 0));
    this.written = { bytes: bytes.length, sum: hex(crc32(bytes)) };
  }
}

/** A month of the checkpoint. @throws StoreCorrupt when its file is missing or differs from the manifest. */
export async function readMonth(files: Files, folder: string, entry: CostEntry): Promise<CostMonth> {
  const database = new Low<StoredMonth>(
    new CostFile(files, folder, entry, null),
    new CostMonth(entry.month).toStored(),
  );
  await database.read();
  try {
    return CostMonth.from(database.data);
  } catch (error) {
    throw new StoreCorrupt(join(folder, entry.file), 0, `${messageOf(error)}; ${whatToDo}`);
  }
}

/** Folds the ledger into a checkpoint: collects entries, and then writes the changed months. */
export class CostFolding implements CostSink {
  readonly #files: Files;
  readonly #folder: string;
  #entries: readonly CostEntry[];
  /** Added entries, by month. */
  #added = new Map<string, LedgerEntry[]>();

  /** @param entries the months of the checkpoint that this one starts from. */
  constructor(files: Files, folder: string, entries: readonly CostEntry[]) {
    this.#files = files;
    this.#folder = folder;
    this.#entries = entries;
  }

  add(entry: LedgerEntry): void {
    const month = monthOf(entry.at);
    const before = this.#added.get(month);
    if (before === undefined) this.#added.set(month, [entry]);
    else before.push(entry);
  }

  /** @returns the months for the manifest, and the paths of files that it no longer names. */
  async finish(seq: number): Promise<{ costs: CostEntry[]; former: string[] }> {
    const costs = new Map(this.#entries.map((entry) => [entry.month, entry]));
    const former: string[] = [];
    for (const [name, added] of this.#added) {
      const entry = costs.get(name) ?? null;
      const month = entry === null ? new CostMonth(name) : await readMonth(this.#files, this.#folder, entry);
      for (const each of added) month.add(each);
      const file = new CostFile(this.#files, this.#folder, null, costName(name, seq));
      const database = new Low<StoredMonth>(file, month.toStored());
      await database.write();
      if (file.written === null) throw new Error(`the cost of ${name} was not written`);
      costs.set(name, { file: costName(name, seq), month: name, ...file.written });
      if (entry !== null) former.push(join(this.#folder, entry.file));
    }
    this.#added = new Map();
    this.#entries = [...costs.values()].sort((a, b) => (a.month < b.month ? -1 : 1));
    return { costs: [...this.#entries], former };
  }
}
