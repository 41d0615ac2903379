import type { Role } from '../key.ts';
import type { Iso } from './iso.ts';

export interface WireKey {
  id: string;
  role: Role;
  name: string | null;
  created_at: Iso;
  expires_at: Iso | null;
  /** Until when the secret before the last rotation is still taken. */
  previous_valid_until: Iso | null;
}

/** Answered once, when the key is made or rotated. */
export interface WireNewKey extends WireKey {
  key: string;
}

export interface WireKeyList {
  keys: WireKey[];
}

export interface WireTicket {
  ticket: string;
  expires_at: Iso;
  /** Why a socket of the page that asked would be refused now, and which setting it is; null when it would not. */
  refusal: string | null;
}
