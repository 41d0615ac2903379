import type { Message } from '../../../domain/job.ts';
import { isPrivileged, type Principal } from '../../../domain/key.ts';
import type { HttpParts } from '../../../http/parts.ts';
import type { Upload } from '../../../http/uploads.ts';
import { conversationOf } from './finding.ts';

/** The conversation that a response continues. */
export interface Previous {
  /** The messages up to and with a response, by its id. @throws OpenAiError; StoreUnavailable. */
  messagesOf(id: string): Promise<readonly Message[]>;
  /**
   * Take memory for the conversation and what the request adds to it; resolves when there is room to go on.
   * @throws CoordinatorError payload_too_large, share_exceeded, rate_limited.
   */
  hold(bytes: number): Promise<void>;
}

/**
 * The conversation from the store. It counts as a body, as if the client had sent it: otherwise many requests of 100 bytes
 * could each become a job of 10 MiB, and leave others no room in the store.
 */
export class StoredPrevious implements Previous {
  readonly #parts: HttpParts;
  readonly #principal: Principal;
  #upload: Upload | null = null;

  constructor(parts: HttpParts, principal: Principal) {
    this.#parts = parts;
    this.#principal = principal;
  }

  messagesOf(id: string): Promise<readonly Message[]> {
    return conversationOf(id, this.#principal, this.#parts.coordinator);
  }

  async hold(bytes: number): Promise<void> {
    const { keyId, role } = this.#principal;
    this.#upload = this.#parts.uploads.begin({ keyId, isPrivileged: isPrivileged(role) }, () => {});
    this.#upload.take(bytes);
    const room = this.#upload.whole();
    if (room !== null) await room;
  }

  /** The job is durable, or there is none. */
  release(): void {
    this.#upload?.release();
  }
}
