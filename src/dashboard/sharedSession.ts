import { root } from './root.ts';

/** What tabs of this service say to each other. Only pages of the same origin hear it, and nothing of it is stored. */
type Word =
  | { type: 'ask'; from: string }
  | { type: 'give'; to: string; key: string }
  | { type: 'end'; key: string };

/** How long a new tab waits for another one before it shows its sign-in page, ms. */
const answerMs = 200;

/** A coordinator under another path of this origin has other keys. */
const channelName = `svc.session ${root.pathname}`;

export interface TabPorts {
  /** The key of this tab; null when it is not signed in. */
  key(): string | null;
  /** Another tab has given its key to this one, which asked for it. */
  onGiven(key: string): void;
  /** The reader has signed out in another tab. */
  onEnded(key: string): void;
}

/**
 * The open tabs of a browser share a session by word of mouth: a new one asks, and one that is signed in answers. The key
 * is in the memory of tabs and in the storage of each tab alone, so it is gone when the last one is closed.
 */
export class Tabs {
  readonly #channel = new BroadcastChannel(channelName);
  readonly #id = crypto.getRandomValues(new Uint32Array(4)).join('-');
  readonly #ports: TabPorts;
  #hasAsked = false;
  #heard: (() => void) | null = null;

  constructor(ports: TabPorts) {
    this.#ports = ports;
    this.#channel.addEventListener('message', ({ data }) => this.#hear(data as Word));
  }

  /** Ask the others; resolves when one has answered, or none has for a moment. One that answers later is heard too. */
  ask(): Promise<void> {
    this.#hasAsked = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#heard = resolve;
    setTimeout(resolve, answerMs);
    this.#say({ type: 'ask', from: this.#id });
    return promise;
  }

  /** The reader has signed out: every tab with this key does. */
  end(key: string): void {
    this.#hasAsked = false;
    this.#say({ type: 'end', key });
  }

  #say(word: Word): void {
    this.#channel.postMessage(word);
  }

  #hear(word: Word): void {
    const key = this.#ports.key();
    if (word.type === 'ask' && key !== null) this.#say({ type: 'give', to: word.from, key });
    else if (word.type === 'end' && key === word.key) this.#ports.onEnded(word.key);
    else if (word.type === 'give' && word.to === this.#id && this.#hasAsked) {
      this.#hasAsked = false;
      this.#ports.onGiven(word.key);
      this.#heard?.();
    }
  }
}
