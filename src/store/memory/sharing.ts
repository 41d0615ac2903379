/* Parts that jobs in memory have in common. Nothing here is persisted: after a start it fills again from what is
   loaded. */

import {
  type DoorRequest,
  type JobCreator,
  type JobLife,
  type JobRequest,
  laneKey,
  type Target,
} from '../../domain/job.ts';
import type { StoredChange } from '../durableLog.ts';

/** The maximum of shared texts and targets: clients may send any number of models and tags. */
const sharedMax = 10_000;
/** Longer texts are rarely the same in two jobs. */
const sharedTextMax = 64;

/**
 * Lets jobs share equal parts: targets, names of models, tags, empty lists. Everything from JSON.parse has its own
 * copy; shared, a pending job with a 1 KB prompt costs 1.7 KB of heap instead of 2.1 KB. Shared lists and objects are
 * frozen, so that an accidental edit throws instead of changing other jobs.
 */
export class Sharing {
  readonly #texts = new Map<string, string>();
  readonly #targets = new Map<string, Target>();
  readonly #creators = new Map<string, JobCreator>();
  readonly #doors = new Map<string, DoorRequest>();
  readonly #noList: never[] = [];
  readonly #noMap: Record<string, never> = {};

  constructor() {
    Object.freeze(this.#noList);
    Object.freeze(this.#noMap);
  }

  /** Replace equal parts of a change from JSON.parse by shared ones, in place: it must not be in use yet. */
  change(change: StoredChange): void {
    if (change.kind !== 'job') return;
    if (change.life !== undefined) this.life(change.life);
    if (change.difference !== undefined) this.#members(change.difference.values);
    const { created } = change;
    if (created === undefined) return;
    this.request(created.request);
    if (created.by !== undefined) created.by = this.creator(created.by);
  }

  /** The shared equal one. */
  creator(creator: JobCreator): JobCreator {
    const known = this.#creators.get(creator.keyId);
    if (known?.name === creator.name) return known;
    if (known !== undefined || this.#creators.size < sharedMax)
      this.#creators.set(creator.keyId, Object.freeze(creator));
    return creator;
  }

  /** Replace equal parts of the request by shared ones, in place: it must not be in use yet. */
  request(request: JobRequest): void {
    request.provider = this.#textOrNull(request.provider);
    request.model = this.#textOrNull(request.model);
    request.priority = this.#text(request.priority);
    request.tier = this.#textOrNull(request.tier);
    request.tags = this.#list(request.tags.map((tag) => this.#text(tag)));
    request.params = this.#map(request.params);
    request.metadata = this.#map(request.metadata);
    if (request.door !== undefined) request.door = this.#door(request.door);
  }

  /** Replace equal parts of the life by shared ones, in place: it must not be in use yet. */
  life(life: JobLife): void {
    life.target = this.#target(life.target);
    life.chain = this.#list(life.chain.map((target) => this.#target(target)));
    life.priority = this.#text(life.priority);
    life.attempts = this.#list(life.attempts);
    life.route = this.#list(life.route);
    life.tallies = this.#map(life.tallies);
  }

  /** The same for those members of a life that have changed. */
  #members(values: Partial<JobLife>): void {
    const { target, chain, tallies } = values;
    if (tallies !== undefined) values.tallies = this.#map(tallies);
    if (target !== undefined) values.target = this.#target(target);
    if (chain !== undefined) values.chain = this.#list(chain.map((one) => this.#target(one)));
  }

  #text(text: string): string {
    const shared = this.#texts.get(text);
    if (shared !== undefined) return shared;
    if (text.length <= sharedTextMax && this.#texts.size < sharedMax) this.#texts.set(text, text);
    return text;
  }

  #textOrNull(text: string | null): string | null {
    return text === null ? null : this.#text(text);
  }

  #target(target: Target): Target {
    const key = laneKey(target);
    const shared = this.#targets.get(key);
    if (shared !== undefined) return shared;
    if (this.#targets.size < sharedMax) this.#targets.set(key, Object.freeze(target));
    return target;
  }

  /** Those of batches are alike in every line; long ones, with what a response was asked for, seldom are. */
  #door(door: DoorRequest): DoorRequest {
    const { form, fields } = door;
    const { model, ...others } = fields;
    for (const _ in others) return door;
    if (typeof model !== 'string' || model.length > sharedTextMax) return door;
    const key = `${form} ${model}`;
    const shared = this.#doors.get(key);
    if (shared !== undefined) return shared;
    if (this.#doors.size < sharedMax) this.#doors.set(key, Object.freeze(door));
    return door;
  }

  #list<T>(list: T[]): T[] {
    return list.length === 0 ? this.#noList : list;
  }

  #map<T>(map: Record<string, T>): Record<string, T> {
    for (const _ in map) return map;
    return this.#noMap;
  }
}
