import { KeyRing } from '../../src/auth/keyRing.ts';
import type { Coordinator } from '../../src/coordinator/coordinator.ts';
import { keyStorage } from '../../src/coordinator/keyStorage.ts';
import type { Clock } from '../../src/domain/clock.ts';
import type { Principal } from '../../src/domain/key.ts';
import type { Store } from '../../src/store/store.ts';
import type { Checker } from './checker.ts';
import type { Ask } from './clients.ts';
import type { Dice } from './dice.ts';

/** Of the environment: always taken, and what a worker has that was given no other. */
const environmentKey = 'the-key-of-the-environment';

/** What is known of a secret: whether it must be taken, must be refused, or nothing for sure. */
type Standing = 'taken' | 'refused' | 'unknown';

/** One key with all its secrets, as its operator knows it. */
interface KnownKey {
  id: string;
  standings: Map<string, Standing>;
  /** How many changes of it were asked for. */
  asked: number;
  /** How many of those may be under way: they are carried out in any order. */
  open: number;
}

/** The keys of the workers: made, rotated and revoked by an operator who remembers what he was told. */
export class Keys {
  readonly #dice: Dice;
  readonly #ask: Ask;
  readonly #checker: Checker;
  readonly #rings = new WeakMap<Coordinator, KeyRing>();
  /** Worker → the key that it shows when it connects. */
  readonly #held = new Map<string, string>();
  #isTurnedBack = false;
  readonly #known: KnownKey[] = [];
  /** Connections that were refused for their key, and those that were ended for it. */
  refused = 0;
  /** Connections that are open, with the secret that they came with. */
  readonly #open = new Map<() => void, string>();

  constructor(options: { dice: Dice; ask: Ask; checker: Checker }) {
    this.#dice = options.dice;
    this.#ask = options.ask;
    this.#checker = options.checker;
  }

  heldBy(worker: string): string {
    return this.#held.get(worker) ?? environmentKey;
  }

  /** The keys of a coordinator that has started. @param store of the coordinator. */
  async start(coordinator: Coordinator, store: Store, clock: Clock): Promise<void> {
    const storage = keyStorage(store, coordinator.audit);
    const keys = await store.keys();
    const { random } = this.#dice;
    this.#rings.set(coordinator, new KeyRing({ clock, random, environmentKey, keys, storage }));
    for (const key of this.#known) {
      key.open = 0;
      for (const secret of key.standings.keys()) this.#try(coordinator, secret);
    }
  }

  stop(coordinator: Coordinator): void {
    this.#rings.get(coordinator)?.close();
  }

  /** The coordinator has died, and every connection with it. */
  died(): void {
    this.#open.clear();
  }

  /** Who comes with a key; null when it is refused. */
  authenticate(coordinator: Coordinator, secret: string): Principal | null {
    const principal = this.#try(coordinator, secret);
    if (principal === null) this.refused += 1;
    return principal;
  }

  /** Watch the key of a connection. The returned function ends that. */
  watch(coordinator: Coordinator, principal: Principal, secret: string, onRefused: () => void): () => void {
    this.#open.set(onRefused, secret);
    const unwatch = this.#ring(coordinator).watch(principal, () => {
      this.#open.delete(onRefused);
      this.refused += 1;
      onRefused();
    });
    return () => {
      this.#open.delete(onRefused);
      unwatch();
    };
  }

  /** One thing that an operator does. @param workers their names. */
  act(workers: readonly string[]): void {
    const worker = this.#dice.pick(workers);
    const key = this.#known.find(({ standings }) => standings.has(this.heldBy(worker)));
    const choice = this.#dice.int(0, 3);
    if (key === undefined) this.#create(worker);
    else if (choice === 0) this.#held.delete(worker);
    else if (choice === 1) this.#rotate(worker, key);
    else this.#revoke(key);
  }

  /** Every worker has a key that is taken. */
  turnBack(): void {
    this.#isTurnedBack = true;
    this.#held.clear();
  }

  /** Give a worker a key. An answer that comes after everything was turned back is of one that may be revoked by then. */
  #give(worker: string, secret: string): void {
    if (!this.#isTurnedBack) this.#held.set(worker, secret);
  }

  #create(worker: string): void {
    this.#ask(
      `make a key for ${worker}`,
      (coordinator) => this.#ring(coordinator).create('worker', worker, null),
      (told, made) => {
        if (told !== 'ok' || made === null) return;
        this.#known.push({
          id: made.record.id,
          standings: new Map([[made.key, 'taken']]),
          asked: 0,
          open: 0,
        });
        this.#give(worker, made.key);
      },
    );
  }

  #rotate(worker: string, key: KnownKey): void {
    const graceMs = this.#dice.pick([0, 10_000]);
    const before = [...key.standings.keys()];
    const isAlone = this.#changing(key);
    this.#ask(
      `rotate the key of ${worker}`,
      (coordinator) => this.#ring(coordinator).rotate(key.id, graceMs),
      (told, made) => {
        key.open -= 1;
        if (told !== 'ok' || made === null) return;
        if (graceMs === 0) for (const old of before) key.standings.set(old, 'refused');
        key.standings.set(made.key, isAlone() ? 'taken' : 'unknown');
        this.#give(worker, made.key);
      },
    );
  }

  #revoke(key: KnownKey): void {
    this.#changing(key);
    this.#ask(
      `revoke the key ${key.id}`,
      (coordinator) => this.#ring(coordinator).revoke(key.id),
      (told) => {
        key.open -= 1;
        if (told !== 'ok') return;
        for (const secret of key.standings.keys()) key.standings.set(secret, 'refused');
        for (const secret of this.#open.values()) {
          if (key.standings.has(secret)) this.#checker.breach('a connection outlived the end of its key');
        }
      },
    );
  }

  /** Show a key, and hold the answer against what is known of it. */
  #try(coordinator: Coordinator, secret: string): Principal | null {
    const principal = this.#ring(coordinator).authenticate(`Bearer ${secret}`);
    const isTaken = typeof principal !== 'string';
    const standing = this.#known
      .map(({ standings }) => standings.get(secret))
      .find((one) => one !== undefined);
    if (standing === 'refused' && isTaken) this.#checker.breach('a key that was taken back is taken');
    if (standing === 'taken' && !isTaken) this.#checker.breach('a key that was made is refused');
    return isTaken ? principal : null;
  }

  /**
   * A change is on its way: until it is answered nobody knows which secrets are taken.
   * @returns whether it is the last one for sure.
   */
  #changing(key: KnownKey): () => boolean {
    for (const [secret, standing] of key.standings)
      if (standing === 'taken') key.standings.set(secret, 'unknown');
    const wasAlone = key.open === 0;
    key.open += 1;
    key.asked += 1;
    const mine = key.asked;
    return () => wasAlone && key.asked === mine;
  }

  #ring(coordinator: Coordinator): KeyRing {
    const ring = this.#rings.get(coordinator);
    if (ring === undefined) throw new Error('the coordinator has not started');
    return ring;
  }
}
