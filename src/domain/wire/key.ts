import type { Role } from '../key.ts';
import type { Iso } from './iso.ts';

/** What a worker may declare with this key; null: anything. For other roles all are null. */
export interface WireKeyBounds {
  /** Its name must match one of them; `*` matches any text. */
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
  /** Until when the secret before the last rotation is accepted. */
  previous_valid_until: Iso | null;
  /** In lists, on the key in `admin.key` of the data folder: the command line on that machine uses it. */
  in_data_folder?: true;
  /** In lists and when it is rotated: who has used it lately. */
  used_by?: WireKeyUse;
}

/** Who has used a key. */
export interface WireKeyUse {
  /** Names of the workers that belong to it, at most 100. */
  workers: string[];
  /** The last 20 programs since the start of the coordinator, by name and address, the last one first. */
  clients: { name: string; address: string | null; last_used_at: Iso }[];
  /** Others have used it too. */
  more?: true;
}

/** Body of POST /api/keys. */
export interface CreateKeyBody extends Partial<WireKeyBounds> {
  role: Role;
  name?: string;
  expires_at?: Iso;
}

/** Returned once, when the key is created or rotated. */
export interface WireNewKey extends WireKey {
  key: string;
}

export interface WireKeyList {
  keys: WireKey[];
}

/** A key that another key has created for a browser. */
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
  /** Whether this request uses it. */
  current: boolean;
}

export interface WireSessionList {
  /** Oldest first. */
  sessions: WireSession[];
  total: number;
}

/** Returned once, when the session is created. */
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
  /** Why a socket of the requesting page would be refused now, with the setting; null when it would not. */
  refusal: string | null;
}
