import type { Role } from '../domain/key.ts';
import { root } from './root.ts';

/** What tabs of this service say to each other. Only pages of the same origin hear it, and nothing of it is stored. */
type Word =
  | { type: 'ask'; from: string }
  | { type: 'give'; to: string; session: SharedSession }
  | { type: 'end'; id: string };

/** What tabs share: a session of the coordinator's, never the key that made it. */
export interface SharedSession {
  id: string;
  /** Its secret: what is sent as the key. */
  key: string;
  /** The key that made it. */
  keyId: string;
  /** null: one that this page does not know. */
  role: Role | null;
}

/** How long a new tab waits for another one before it shows its sign-in page, ms. */
const answerMs = 200;

/** A coordinator under another path of this origin has other sessions. */
const channelName = `svc.session ${root.pathname}`;

export interface TabPorts {
  /** The session of this tab; null when it is not signed in. */
  session(): SharedSession | null;
  /** Another tab has given its session to this one, which asked for it. */
  onGiven(session: SharedSession): void;
  /** The reader has signed out of this tab's session in another tab. */
  onEnded(): void;
}

/**
 * The open tabs of a browser share a session by word of mouth: a new one asks, and one that is signed in answers. Its
 * secret is in the memory of tabs and in the storage of each tab alone, so it is gone when the last one is closed.
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

  /** The reader has signed out: every tab with this session does. @param id of the session. */
  end(id: string): void {
    this.#hasAsked = false;
    this.#say({ type: 'end', id });
  }

  #say(word: Word): void {
    this.#channel.postMessage(word);
  }

  #hear(word: Word): void {
    const session = this.#ports.session();
    if (word.type === 'ask' && session !== null) this.#say({ type: 'give', to: word.from, session });
    else if (word.type === 'end' && session?.id === word.id) this.#ports.onEnded();
    else if (word.type === 'give' && word.to === this.#id && this.#hasAsked) {
      this.#hasAsked = false;
      this.#ports.onGiven(word.session);
      this.#heard?.();
    }
  }
}
