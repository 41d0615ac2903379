/*
 * Parts that jobs in memory have in common. Owns nothing that survives: after a start it fills itself again from what is loaded.
 */

import { type JobCreator, type JobLife, type JobRequest, laneKey, type Target } from '../../domain/job.ts';
import type { StoredChange } from '../durableLog.ts';

/** Texts and targets that are shared stop being added here: clients may send any number of models and tags. */
const sharedMax = 10_000;
/** Longer texts are hardly ever the same in two jobs. */
const sharedTextMax = 64;

/**
 * Lets jobs share what is equal in them: targets, names of models, tags, empty lists. What comes out of JSON.parse has
 * its own copy of everything; shared, a pending job with a 1 KB prompt costs 1.7 KB of heap instead of 2.1 KB.
 * What is shared is frozen where it is a list or an object, so that an edit by mistake throws instead of reaching other jobs.
 */
export class Sharing {
  readonly #texts = new Map<string, string>();
  readonly #targets = new Map<string, Target>();
  readonly #creators = new Map<string, JobCreator>();
  readonly #noList: never[] = [];
  readonly #noMap: Record<string, never> = {};

  constructor() {
    Object.freeze(this.#noList);
    Object.freeze(this.#noMap);
  }

  /** Put a change, as it came out of JSON.parse, on shared parts, in place: nobody else may hold it yet. */
  change(change: StoredChange): void {
    if (change.kind !== 'job') return;
    this.life(change.life);
    const { created } = change;
    if (created === undefined) return;
    this.request(created.request);
    if (created.by !== undefined) created.by = this.creator(created.by);
  }

  /** The shared one that is equal to this. */
  creator(creator: JobCreator): JobCreator {
    const known = this.#creators.get(creator.keyId);
    if (known?.name === creator.name) return known;
    if (known !== undefined || this.#creators.size < sharedMax)
      this.#creators.set(creator.keyId, Object.freeze(creator));
    return creator;
  }

  /** Put the request on shared parts, in place: nobody else may hold it yet. */
  request(request: JobRequest): void {
    request.provider = this.#textOrNull(request.provider);
    request.model = this.#textOrNull(request.model);
    request.priority = this.#text(request.priority);
    request.tier = this.#textOrNull(request.tier);
    request.tags = this.#list(request.tags.map((tag) => this.#text(tag)));
    request.params = this.#map(request.params);
    request.metadata = this.#map(request.metadata);
  }

  /** Put the life on shared parts, in place: nobody else may hold it yet. */
  life(life: JobLife): void {
    life.target = this.#target(life.target);
    life.chain = this.#list(life.chain.map((target) => this.#target(target)));
    life.priority = this.#text(life.priority);
    life.attempts = this.#list(life.attempts);
    life.route = this.#list(life.route);
    life.tallies = this.#map(life.tallies);
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

  #list<T>(list: T[]): T[] {
    return list.length === 0 ? this.#noList : list;
  }

  #map<T>(map: Record<string, T>): Record<string, T> {
    for (const _ in map) return map;
    return this.#noMap;
  }
}
