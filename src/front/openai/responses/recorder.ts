import type { Spool } from '../../../coordinator/spools/index.ts';
import type { ChunkPart } from '../../../domain/chunkParts.ts';
import type { JobRecord } from '../../../domain/job.ts';
import { isTerminal } from '../../../domain/states.ts';
import type { HttpParts } from '../../../http/parts.ts';
import { JobFollower, type PartSink } from '../follower.ts';

/** One line of a spool: a part and the lease of its attempt, or that the attempt has failed after its parts were recorded. */
export type SpoolLine = { lease: number; part: ChunkPart } | { spoiled: true };

/**
 * Records the parts of a response in the background as they arrive, with or without readers. It follows the job from its construction
 * on, until its end, or until its spool takes no more; the rest is in the result then.
 */
export class Recorder implements PartSink {
  readonly #follower: JobFollower;
  readonly #spool: Spool;

  constructor(job: JobRecord, parts: Pick<HttpParts, 'coordinator' | 'streams'>) {
    this.#spool = parts.coordinator.spools.begin(job.id);
    this.#follower = new JobFollower(job, parts);
    this.#spool.onChange(() => {
      if (this.#spool.isOver) this.#follower.close();
    });
    this.#follower.start(this);
    this.changed(job);
    if (this.#spool.isOver) this.#follower.close();
  }

  get isFull(): boolean {
    return this.#spool.isFull;
  }

  drained(): Promise<void> {
    return this.#spool.written();
  }

  take(part: ChunkPart, lease: number): void {
    this.#add({ lease, part });
  }

  changed({ state }: JobRecord): void {
    if (isTerminal(state)) this.#spool.end();
  }

  spoiled(): void {
    this.#add({ spoiled: true });
    this.#spool.end();
  }

  #add(line: SpoolLine): void {
    this.#spool.add(JSON.stringify(line));
  }
}
