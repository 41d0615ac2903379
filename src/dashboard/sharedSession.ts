import type { Role } from '../domain/key.ts';
import { root } from './root.ts';

/** The messages between tabs. Only pages of the same origin receive them, and they are not stored. */
type TabMessage =
  | { type: 'ask'; from: string }
  | { type: 'give'; to: string; session: SharedSession }
  | { type: 'end'; id: string };

/** What tabs share: a session, never the key that created it. */
export interface SharedSession {
  id: string;
  /** Its secret: sent as the key. */
  key: string;
  /** The key that created it. */
  keyId: string;
  /** null: unknown to this page. */
  role: Role | null;
}

/** How long a new tab waits for another one before it shows its sign-in page, ms. */
const answerMs = 200;

/** A coordinator under another path of this origin has other sessions. */
const channelName = `svc.session ${root.pathname}`;

export interface TabPorts {
  /** The session of this tab; null when it is not signed in. */
  session(): SharedSession | null;
  /** Another tab has sent its session on request. */
  onGiven(session: SharedSession): void;
  /** The reader has signed out of this tab's session in another tab. */
  onEnded(): void;
}

/**
 * The open tabs of a browser share a session by messages: a new one requests it, and a signed-in one answers. Its
 * secret is only in the memory and the storage of each tab, so it is lost when the last one is closed.
 */
export class Tabs {
  readonly #channel = new BroadcastChannel(channelName);
  readonly #id = crypto.getRandomValues(new Uint32Array(4)).join('-');
  readonly #ports: TabPorts;
  #hasAsked = false;
  #heard: (() => void) | null = null;

  constructor(ports: TabPorts) {
    this.#ports = ports;
    this.#channel.addEventListener('message', ({ data }) => this.#hear(data as TabMessage));
  }

  /**
   * Request it from the others; resolves when one has answered, or none has for a moment. A later answer is accepted
   * too.
   */
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

  #say(word: TabMessage): void {
    this.#channel.postMessage(word);
  }

  #hear(word: TabMessage): void {
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
