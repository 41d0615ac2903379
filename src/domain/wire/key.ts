import type { Role } from '../key.ts';
import type { Iso } from './iso.ts';

/** What a worker that comes with a key may say of itself; null: whatever it likes. Other roles have null in all of them. */
export interface WireKeyBounds {
  /** Its name must match one of them; `*` stands for any text. */
  name_patterns: string[] | null;
  tags: string[] | null;
  providers: string[] | null;
  /** Slots of all its connected workers together. */
  max_concurrency: number | null;
}

export interface WireKey extends WireKeyBounds {
  id: string;
  role: Role;
  name: string | null;
  created_at: Iso;
  expires_at: Iso | null;
  /** null: never used. */
  last_used_at: Iso | null;
  /** Until when the secret before the last rotation is still taken. */
  previous_valid_until: Iso | null;
  /** In lists, on the key that the data folder's `admin.key` holds: the command line on that machine uses it. */
  in_data_folder?: true;
}

/** Body of POST /api/keys. */
export interface CreateKeyBody extends Partial<WireKeyBounds> {
  role: Role;
  name?: string;
  expires_at?: Iso;
}

/** Answered once, when the key is made or rotated. */
export interface WireNewKey extends WireKey {
  key: string;
}

export interface WireKeyList {
  keys: WireKey[];
}

/** A key of its own that a key has made for a browser. */
export interface WireSession {
  id: string;
  /** Id of the key that made it; `environment` for `SVC_API_KEY`. */
  key_id: string;
  key_name: string | null;
  role: Role;
  created_at: Iso;
  /** null: never used. */
  last_used_at: Iso | null;
  expires_at: Iso;
  /** Whether it is the session that asks. */
  current: boolean;
}

export interface WireSessionList {
  /** Oldest first. */
  sessions: WireSession[];
  total: number;
}

/** Answered once, when the session is made. */
export interface WireNewSession {
  id: string;
  role: Role;
  key: string;
  key_id: string;
  created_at: Iso;
  expires_at: Iso;
}

export interface WireTicket {
  ticket: string;
  expires_at: Iso;
  /** Why a socket of the page that asked would be refused now, and which setting it is; null when it would not. */
  refusal: string | null;
}
