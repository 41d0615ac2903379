import { hash } from 'node:crypto';
import type { Random } from '../../src/domain/clock.ts';
import { seededRandom } from '../support/fakeClock.ts';

/** Choices of a simulation. Each part of it draws from a stream of its own, so that they do not disturb each other. */
export class Dice {
  readonly random: Random;

  /** The same seed and label give the same choices in every run. */
  constructor(seed: number, label: string) {
    this.random = seededRandom(Number.parseInt(hash('sha256', `${seed}/${label}`).slice(0, 8), 16));
  }

  /** True in this share of all cases, 0..1. */
  chance(share: number): boolean {
    return share > 0 && this.random.next() < share;
  }

  /** A whole number, both ends included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.random.next() * (most - least + 1));
  }

  /** A number whose logarithm is even between the two: mostly small, at times large. */
  spread(least: number, most: number): number {
    return least * (most / least) ** this.random.next();
  }

  /** @throws RangeError for an empty list. */
  pick<T>(list: readonly T[]): T {
    const item = list[this.int(0, list.length - 1)];
    if (item === undefined) throw new RangeError('nothing to pick from');
    return item;
  }
}
