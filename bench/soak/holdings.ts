import { setTimeout as sleep } from 'node:timers/promises';
import type { WireStats } from '../../src/domain/wire/stats.ts';
import type { ServerProcess } from '../support/processes.ts';
import { ask } from './ask.ts';

const lookMs = 250;
const mebibyte = 1024 ** 2;

/** What the coordinator held at one moment, its garbage collected. */
export interface Holding {
  /** Jobs that are not archived. */
  heldJobs: number;
  heapMiB: number;
  descriptors: number;
}

/**
 * What the coordinator holds right after ended jobs have left for the archive. They do once a minute, tens of thousands
 * at a time; what is held at any other moment says how long ago that was, and not whether something grows.
 */
export class Holdings {
  readonly #coordinator: ServerProcess;
  readonly #keepJobs: number;
  readonly #perSecond: number;
  #afterArchiving: Holding | null = null;

  /** @param options.keepJobs ended jobs that stay. @param options.perSecond jobs that end in a second. */
  constructor(coordinator: ServerProcess, options: { keepJobs: number; perSecond: number }) {
    this.#coordinator = coordinator;
    this.#keepJobs = options.keepJobs;
    this.#perSecond = options.perSecond;
  }

  /** After the last archiving; as of now while there has been none. */
  async latest(): Promise<Holding> {
    return this.#afterArchiving ?? (await this.#take((await this.#jobs()).total));
  }

  /** Look after each archiving. */
  async follow(isOver: () => boolean): Promise<void> {
    let mayArchive = false;
    while (!isOver()) {
      const { total, by_status } = await this.#jobs();
      const surplus = by_status.completed + by_status.failed + by_status.cancelled - this.#keepJobs;
      // No more than end in a second: the archiving was over less than that ago.
      if (surplus > this.#perSecond) mayArchive = true;
      else if (mayArchive) {
        mayArchive = false;
        this.#afterArchiving = await this.#take(total);
      }
      await sleep(lookMs);
    }
  }

  async #take(heldJobs: number): Promise<Holding> {
    const { heapBytes, descriptors } = await this.#coordinator.collect();
    return { heldJobs, heapMiB: heapBytes / mebibyte, descriptors };
  }

  async #jobs(): Promise<WireStats['jobs']> {
    const { jobs } = JSON.parse(await ask(this.#coordinator.url, 'GET', '/api/stats', [200])) as WireStats;
    return jobs;
  }
}
