/* The files of the audit log, one a month, appended by checkpoints. The length in the manifest says what counts of a
   file; the next checkpoint overwrites what a crash left after it. */

import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { AuditEntry, AuditRecord } from '../../../domain/audit.ts';
import { messageOf } from '../../../domain/errors.ts';
import type { AuditSink } from '../../changes/apply.ts';
import { type AuditFile, whatToDo } from '../checkpoint/manifest.ts';
import { StoreCorrupt } from '../errors.ts';
import { type Files, type OpenFile, openExisting, writeAll } from '../files.ts';
import { hex } from '../journal/record.ts';
import { auditName } from '../layout.ts';

/** Bytes read and parsed between two turns of the event loop: some 200 entries, about 1 ms. */
const blockBytes = 64 * 1024;
const newline = 0x0a;
const lineHead = /^\{"sum":"([0-9a-f]{8})","entry":$/;
/** `{"sum":"`, 8 digits, `","entry":` */
const headBytes = 8 + 8 + 10;

/** The audit log of a checkpoint. Plain data: it comes from another thread. */
export interface FoldedAudit {
  /** Number of the last entry that is or was in a file. */
  seq: number;
  /** In order of the months. */
  files: AuditFile[];
}

/** Folds the audit log into a checkpoint: collects entries, then appends them to the file of their month. */
export class AuditFolding implements AuditSink {
  readonly #files: Files;
  readonly #folder: string;
  #folded: FoldedAudit;
  #seq: number;
  /** Added entries, by month. */
  #added = new Map<string, AuditEntry[]>();

  /** @param folded of the checkpoint that this one starts from. */
  constructor(files: Files, folder: string, folded: FoldedAudit) {
    this.#files = files;
    this.#folder = folder;
    this.#folded = folded;
    this.#seq = folded.seq;
  }

  add(record: AuditRecord): void {
    this.#seq += 1;
    const month = new Date(record.at).toISOString().slice(0, 7);
    const entry = { seq: this.#seq, ...record };
    const before = this.#added.get(month);
    if (before === undefined) this.#added.set(month, [entry]);
    else before.push(entry);
  }

  /**
   * Append the added entries; durable when it resolves. Until a manifest names the new length, the next checkpoint
   * overwrites them.
   * @param before epoch ms: months that ended by then are dropped.
   * @returns the part of the manifest, and the paths of files that it no longer names.
   */
  async finish(before: number): Promise<{ audit: FoldedAudit; former: string[] }> {
    const files = new Map(this.#folded.files.map((file) => [file.month, file]));
    for (const [month, entries] of this.#added) files.set(month, await this.#append(month, entries, files));
    if (this.#added.size > 0) await this.#files.syncFolder(this.#folder);
    this.#added = new Map();
    const all = [...files.values()].sort((a, b) => (a.month < b.month ? -1 : 1));
    const isOver = ({ month }: AuditFile) => endOf(month) <= before;
    this.#folded = { seq: this.#seq, files: all.filter((file) => !isOver(file)) };
    return { audit: this.#folded, former: all.filter(isOver).map(({ file }) => join(this.#folder, file)) };
  }

  async #append(
    month: string,
    entries: readonly AuditEntry[],
    files: ReadonlyMap<string, AuditFile>,
  ): Promise<AuditFile> {
    const name = auditName(month);
    const start = files.get(month)?.bytes ?? 0;
    const bytes = Buffer.from(entries.map(lineOf).join(''));
    const file = await this.#files.open(join(this.#folder, name), 'edit');
    try {
      // Appended by an unfinished checkpoint.
      if ((await file.size()) > start) await file.truncate(start);
      await writeAll(file, bytes, start);
      await file.sync();
    } finally {
      await file.close();
    }
    return { file: name, month, bytes: start + bytes.length };
  }
}

function lineOf(entry: AuditEntry): string {
  const text = JSON.stringify(entry);
  return `{"sum":"${hex(crc32(text))}","entry":${text}}\n`;
}

/** First moment after a month (`2026-11`, UTC), epoch ms. */
function endOf(month: string): number {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return Date.UTC(year, number, 1);
}

/** @throws StoreCorrupt when a file in the manifest is missing or too short. */
export async function checkAudit(files: Files, folder: string, { files: named }: FoldedAudit): Promise<void> {
  for (const { file: name, bytes } of named) {
    const path = join(folder, name);
    const file = await openExisting(files, path);
    const size = await file?.size();
    await file?.close();
    if (size === undefined)
      throw new StoreCorrupt(path, 0, `coordinator.json names it and it is missing; ${whatToDo}`);
    if (size < bytes)
      throw new StoreCorrupt(path, size, `it is shorter than coordinator.json says; ${whatToDo}`);
  }
}

/**
 * The entries of a checkpoint, newest first, in batches; the event loop gets a turn between two.
 * @param since epoch ms: months before it are not read. @param until epoch ms: months after it are not read.
 * @throws StoreCorrupt when an entry is damaged.
 */
export async function* auditEntries(
  files: Files,
  folder: string,
  { files: named }: FoldedAudit,
  since: number,
  until: number | null,
): AsyncGenerator<AuditEntry[]> {
  for (const file of named.toReversed()) {
    const isWanted = endOf(file.month) > since && (until === null || Date.parse(file.month) < until);
    if (isWanted) yield* readAudit(files, folder, file);
  }
}

/** The entries of a file, in the order of `auditEntries`. */
async function* readAudit(
  files: Files,
  folder: string,
  { file: name, bytes }: AuditFile,
): AsyncGenerator<AuditEntry[]> {
  const path = join(folder, name);
  const file = await files.open(path, 'read');
  try {
    let carried: Buffer = Buffer.alloc(0);
    for (let end = bytes; end > 0; ) {
      const start = Math.max(0, end - blockBytes);
      const block = Buffer.concat([await readFully(file, start, end), carried]);
      // The block starts within a line, unless it is the first of the file.
      const from = start === 0 ? 0 : block.indexOf(newline) + 1;
      carried = start === 0 ? Buffer.alloc(0) : block.subarray(0, from);
      end = start;
      // A line longer than a block: read on to its start.
      if (start > 0 && from === 0) carried = block;
      else yield entriesOf(block.subarray(from), path, start + from);
    }
  } finally {
    await file.close();
  }
}

async function readFully(file: OpenFile, start: number, end: number): Promise<Buffer> {
  const into = Buffer.allocUnsafe(end - start);
  let done = 0;
  while (done < into.length) {
    const count = await file.read(into.subarray(done), start + done);
    if (count === 0) throw new Error('the file ends early');
    done += count;
  }
  return into;
}

/** @param offset of the first byte in the file. */
function entriesOf(bytes: Buffer, path: string, offset: number): AuditEntry[] {
  const entries: AuditEntry[] = [];
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(newline, from);
    const line = bytes.subarray(from, end < 0 ? bytes.length : end);
    try {
      entries.push(decodeLine(line));
    } catch (error) {
      throw new StoreCorrupt(path, offset + from, `${messageOf(error)}; ${whatToDo}`);
    }
    from += line.length + 1;
  }
  return entries.reverse();
}

function decodeLine(line: Buffer): AuditEntry {
  const sum = lineHead.exec(line.toString('latin1', 0, headBytes))?.[1];
  const text = line.subarray(headBytes, -1);
  if (sum !== hex(crc32(text))) throw new Error('its checksum is wrong');
  return JSON.parse(text.toString('utf8'));
}
