import { basename, dirname } from 'node:path';
import type { Files, OpenFile } from '../../src/store/json/files.ts';
import { type Operation, systemError } from '../store/failingFiles.ts';
import type { SimProcess, Timeline } from '../support/timeline.ts';
import type { Dice } from './dice.ts';

/** Bytes that a disk writes at once: a write that is cut off by a power failure ends at such an edge, or anywhere. */
const sectorBytes = 512;

/** Bytes that grow. */
class Bytes {
  #buffer = Buffer.alloc(256);
  length = 0;

  view(): Buffer {
    return this.#buffer.subarray(0, this.length);
  }

  write(bytes: Uint8Array, position: number): void {
    const end = position + bytes.byteLength;
    if (end > this.#buffer.length) {
      const larger = Buffer.alloc(Math.max(end, 2 * this.#buffer.length));
      this.view().copy(larger);
      this.#buffer = larger;
    }
    this.#buffer.set(bytes, position);
    this.length = Math.max(this.length, end);
  }

  truncate(length: number): void {
    if (length > this.length) this.write(Buffer.alloc(length - this.length), this.length);
    this.#buffer.fill(0, length, this.length);
    this.length = length;
  }

  set(other: Bytes): void {
    this.#buffer = Buffer.from(other.view());
    this.length = other.length;
  }
}

/** A change of a file that is not on the disk yet. */
type Change = { position: number; bytes: Buffer } | { length: number };

/** Of every disk together. */
let inodeCount = 0;

/** A file: what a process sees of it, and what a power failure leaves. */
class Inode {
  readonly identity: string;
  readonly seen = new Bytes();
  readonly durable = new Bytes();
  /** In order. The sure ones are on the disk, and stand here because something before them is not. */
  pending: { change: Change; isSure: boolean }[] = [];

  constructor() {
    inodeCount += 1;
    this.identity = String(inodeCount);
  }

  /** @param isSure a write that is durable when it returns: it covers its own range, and nothing that was written before. */
  change(change: Change, isSure = false): void {
    apply(this.seen, change);
    if (isSure && this.pending.length === 0) apply(this.durable, change);
    else this.pending.push({ change, isSure });
  }

  /** Let what is pending reach the disk: the first `kept` of those that are not sure, and all that are. @returns the next. */
  settle(kept = Number.POSITIVE_INFINITY): Change | null {
    let left = kept;
    let next: Change | null = null;
    for (const { change, isSure } of this.pending) {
      if (isSure || left > 0) apply(this.durable, change);
      else next ??= change;
      if (!isSure) left -= 1;
    }
    this.pending = [];
    return next;
  }
}

function apply(bytes: Bytes, change: Change): void {
  if ('length' in change) bytes.truncate(change.length);
  else bytes.write(change.bytes, change.position);
}

/** A change of the names in a folder. */
type Naming = { from: string | null; to: string | null; inode: Inode | null };

/** A folder: names as a process sees them, and those that a power failure leaves. */
class Folder {
  names = new Map<string, Inode>();
  durable = new Map<string, Inode>();
  pending: Naming[] = [];
  /** Whether its own name in its parent is on the disk. */
  isDurable = false;

  change(naming: Naming): void {
    rename(this.names, naming);
    this.pending.push(naming);
  }

  sync(): void {
    for (const naming of this.pending) rename(this.durable, naming);
    this.pending = [];
  }
}

function rename(names: Map<string, Inode>, { from, to, inode }: Naming): void {
  if (from !== null) names.delete(from);
  if (to !== null && inode !== null) names.set(to, inode);
}

/** How the disk behaves. Rates are shares of operations, 0..1. */
export interface DiskFaults {
  /** Whether a file that is opened for appending has durable writes. */
  hasDurableWrites: boolean;
  /** How long an operation takes, ms: mostly the first, at times up to the second. */
  fastMs: number;
  slowMs: number;
  /** Writes that take only a part of what they are given. */
  shortWrites: number;
  /** Syncs, and durable writes, that end with EIO. */
  syncErrors: number;
  /** Opens that end with EMFILE. */
  openErrors: number;
  /** Reads that end with EIO. */
  readErrors: number;
}

/** The disk of one machine. It outlives every process. */
export class SimDisk {
  faults: DiskFaults;
  /** Bytes that may still be written; Infinity for enough. */
  free = Number.POSITIVE_INFINITY;
  readonly #folders = new Map<string, Folder>();
  readonly #dice: Dice;

  constructor(root: string, faults: DiskFaults, dice: Dice) {
    this.faults = faults;
    this.#dice = dice;
    this.folder(root, true).isDurable = true;
  }

  folder(path: string, isMade = false): Folder {
    const known = this.#folders.get(path);
    if (known !== undefined) return known;
    if (!isMade) throw systemError('ENOENT');
    const made = new Folder();
    this.#folders.set(path, made);
    return made;
  }

  syncFolder(path: string): void {
    this.folder(path).sync();
    for (const [name, folder] of this.#folders) if (dirname(name) === path) folder.isDurable = true;
  }

  /** Everything that was not made durable may be gone, all of it or a part. */
  loseThePower(): void {
    const dice = this.#dice;
    for (const [path, folder] of [...this.#folders]) {
      if (!folder.isDurable && dice.chance(0.5)) {
        this.#folders.delete(path);
        continue;
      }
      folder.isDurable = true;
      folder.pending.length = dice.int(0, folder.pending.length);
      folder.sync();
      folder.names = new Map(folder.durable);
      for (const inode of folder.names.values()) this.#lose(inode);
    }
  }

  #lose(inode: Inode): void {
    const dice = this.#dice;
    const isLast = inode.pending.every(({ isSure }) => !isSure);
    const torn = inode.settle(dice.chance(0.3) ? 0 : dice.int(0, inode.pending.length));
    if (isLast && torn !== null && 'bytes' in torn && dice.chance(0.7)) {
      const cut = cutOf(torn.bytes.length, dice);
      const before = Buffer.from(inode.durable.view());
      apply(inode.durable, { position: torn.position, bytes: torn.bytes.subarray(0, cut) });
      if (dice.chance(0.5)) this.#reorder(inode, before, torn.position);
    }
    inode.seen.set(inode.durable);
  }

  /** Sectors of a write reach the disk in any order: some that should have come earlier are still as they were before it. */
  #reorder({ durable }: Inode, before: Buffer, from: number): void {
    const share = this.#dice.int(1, 9) / 10;
    for (let at = from - (from % sectorBytes); at < durable.length; at += sectorBytes) {
      if (!this.#dice.chance(share)) continue;
      const old = Buffer.alloc(Math.min(sectorBytes, durable.length - at));
      before.subarray(at).copy(old);
      durable.write(old, at);
    }
  }

  /** After an error of a sync the system may have dropped what it could not write: a later look finds the old bytes. */
  forget(inode: Inode): void {
    inode.settle(0);
    if (this.#dice.chance(0.5)) inode.seen.set(inode.durable);
  }
}

/** Where a write of so many bytes is cut off. */
function cutOf(length: number, dice: Dice): number {
  const cut = dice.int(0, length);
  return dice.chance(0.5) ? cut : cut - (cut % sectorBytes);
}

/** What a simulation does with an operation besides carrying it out. */
export interface DiskWatch {
  /** Before the operation is carried out and after it; it may end the process there. */
  step(operation: Operation['name'], path: string): void;
}

/** The file system of one machine, as one process sees it. Every operation takes time and may fail. */
export class SimFiles implements Files {
  readonly #disk: SimDisk;
  readonly #timeline: Timeline;
  readonly #process: SimProcess;
  readonly #dice: Dice;
  readonly #watch: DiskWatch;

  constructor(disk: SimDisk, timeline: Timeline, process: SimProcess, dice: Dice, watch: DiskWatch) {
    this.#disk = disk;
    this.#timeline = timeline;
    this.#process = process;
    this.#dice = dice;
    this.#watch = watch;
  }

  makeFolder(path: string): Promise<void> {
    return this.#do('makeFolder', path, () => {
      this.#disk.folder(path, true);
    });
  }

  list(path: string): Promise<string[]> {
    return this.#do('list', path, () => [...this.#disk.folder(path).names.keys()]);
  }

  rename(from: string, to: string): Promise<void> {
    return this.#do('rename', to, () => {
      const folder = this.#disk.folder(dirname(from));
      const inode = folder.names.get(basename(from));
      if (inode === undefined) throw systemError('ENOENT');
      folder.change({ from: basename(from), to: basename(to), inode });
    });
  }

  remove(path: string): Promise<void> {
    return this.#do('remove', path, () => {
      const folder = this.#disk.folder(dirname(path));
      if (!folder.names.has(basename(path))) throw systemError('ENOENT');
      folder.change({ from: basename(path), to: null, inode: null });
    });
  }

  syncFolder(path: string): Promise<void> {
    return this.#do('syncFolder', path, () => this.#disk.syncFolder(path));
  }

  open(path: string, mode: Parameters<Files['open']>[1]): Promise<OpenFile> {
    return this.#do('open', path, () => {
      if (this.#dice.chance(this.#disk.faults.openErrors)) throw systemError('EMFILE');
      const folder = this.#disk.folder(dirname(path));
      const found = folder.names.get(basename(path));
      if (found === undefined && mode === 'read') throw systemError('ENOENT');
      const inode = found ?? new Inode();
      if (found === undefined) folder.change({ from: null, to: basename(path), inode });
      if (mode === 'replace') inode.change({ length: 0 });
      return this.#handle(path, inode, mode === 'append' && this.#disk.faults.hasDurableWrites);
    });
  }

  identityAt(path: string): Promise<string | null> {
    return this.#do(
      'identityAt',
      path,
      () => this.#disk.folder(dirname(path)).names.get(basename(path))?.identity ?? null,
    );
  }

  #handle(path: string, inode: Inode, writesAreDurable: boolean): OpenFile {
    return {
      writesAreDurable,
      size: () => this.#do('size', path, () => inode.seen.length),
      identity: () => this.#do('identity', path, () => inode.identity),
      read: (into, position) =>
        this.#do('read', path, () => {
          if (this.#dice.chance(this.#disk.faults.readErrors)) throw systemError('EIO');
          const bytes = inode.seen.view().subarray(position, position + into.byteLength);
          into.set(bytes);
          return bytes.length;
        }),
      write: (bytes, position) => {
        const copy = Buffer.from(bytes);
        return this.#do('write', path, (isDying) =>
          this.#write(inode, copy, position, writesAreDurable, isDying),
        );
      },
      truncate: (length) => this.#do('truncate', path, () => inode.change({ length })),
      sync: () =>
        this.#do('sync', path, () => {
          this.#failToSync(inode);
          inode.settle();
        }),
      close: () => this.#do('close', path, () => {}),
    };
  }

  #write(inode: Inode, bytes: Buffer, position: number, isDurable: boolean, isDying: boolean): number {
    const dice = this.#dice;
    if (isDying) {
      // Some of it had reached the system, and nobody has synced it.
      inode.change({ position, bytes: bytes.subarray(0, cutOf(bytes.length, dice)) });
      return 0;
    }
    if (this.#disk.free === 0) throw systemError('ENOSPC');
    const short = dice.chance(this.#disk.faults.shortWrites) ? dice.int(1, bytes.length) : bytes.length;
    const taken = Math.min(short, this.#disk.free);
    this.#disk.free -= taken;
    const change = { position, bytes: bytes.subarray(0, taken) };
    if (isDurable && dice.chance(this.#disk.faults.syncErrors)) {
      inode.change(change);
      this.#disk.forget(inode);
      throw systemError('EIO');
    }
    inode.change(change, isDurable);
    return taken;
  }

  #failToSync(inode: Inode): void {
    if (!this.#dice.chance(this.#disk.faults.syncErrors)) return;
    this.#disk.forget(inode);
    throw systemError('EIO');
  }

  /** Take the time that it takes, carry it out, and come back. Of a write that the process dies at, a part is done. */
  async #do<T>(name: Operation['name'], path: string, task: (isDying: boolean) => T): Promise<T> {
    const { fastMs, slowMs } = this.#disk.faults;
    await this.#timeline.wait(this.#process, this.#dice.spread(fastMs, slowMs));
    this.#watch.step(name, path);
    if (!this.#process.isAlive) {
      if (name === 'write') task(true);
      return new Promise(() => {});
    }
    const result = task(false);
    this.#watch.step(name, path);
    return this.#process.isAlive ? result : new Promise(() => {});
  }
}
