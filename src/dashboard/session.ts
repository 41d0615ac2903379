import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { type Client, createClient } from '../client/client.ts';
import { type Role, roleMay, roles } from '../domain/key.ts';
import { baseUrl } from './root.ts';
import { Tabs } from './sharedSession.ts';

/** Kept for this tab: it survives a reload, and is gone with the tab. Other tabs are given it when they ask. */
const keyName = 'svc.key';
const roleName = 'svc.role';
/** `#key=…`: a fragment never leaves the browser, so the key stands in no log of a server or a proxy. */
const fragmentName = 'key';

interface Session {
  key: string;
  /** null until the coordinator has said it. */
  role: Role | null;
}

const current = signal<Session | null>(restore());
/** Why the reader was signed out, for the sign-in page. */
export const signOutReason = signal<string | null>(null);

export const isSignedIn: ReadonlySignal<boolean> = computed(() => current.value !== null);
export const role: ReadonlySignal<Role | null> = computed(() => current.value?.role ?? null);

const tabs = new Tabs({
  key: () => current.peek()?.key ?? null,
  onGiven: (key) => {
    if (current.peek() === null) begin(key);
  },
  onEnded: () => signOut(null),
});

/** The API with the key of this session. */
export const api: ReadonlySignal<Client> = computed(() =>
  createClient({ baseUrl, apiKey: current.value?.key ?? null, fetch: (...call) => window.fetch(...call) }),
);

/** The key of this session: for commands that the reader wants to copy with it. */
export function sessionKey(): string | null {
  return current.value?.key ?? null;
}

/** Whether the key may do what is declared for `needed`. Hides buttons; the coordinator decides by itself. */
export function may(needed: Role): boolean {
  return role.value !== null && roleMay(role.value, needed);
}

/**
 * Take a key after asking the coordinator whether it is one that may look.
 * @throws ApiError authentication_failed or forbidden; Unreachable.
 */
export async function signIn(text: string): Promise<void> {
  const key = text.trim();
  await createClient({ baseUrl, apiKey: key, fetch: (...call) => window.fetch(...call) }).ticket();
  begin(key);
}

/** Forget the key. @param reason told on the sign-in page; null when the reader wanted it. */
export function signOut(reason: string | null): void {
  sessionStorage.removeItem(keyName);
  sessionStorage.removeItem(roleName);
  signOutReason.value = reason;
  current.value = null;
}

/** The coordinator has said what the key is. A role that this page does not know is one that may look. */
export function setRole(text: string): void {
  const session = current.peek();
  if (session === null) return;
  const known = roles.find((name) => name === text) ?? 'viewer';
  sessionStorage.setItem(roleName, known);
  if (session.role !== known) current.value = { ...session, role: known };
}

/** Sign out at the reader's wish, in every tab that has this key. */
export function signOutEverywhere(): void {
  const key = current.peek()?.key ?? null;
  signOut(null);
  if (key !== null) tabs.end(key);
}

/** A tab that has no key asks the others for theirs; resolves when this tab is signed in, or nobody has answered. */
export async function joinOtherTabs(): Promise<void> {
  if (current.peek() === null) await tabs.ask();
}

/** Take the key out of the address, `#key=…`, and remove it there at once, from the history too. @returns null: there is none. */
export function takeKeyOfLink(): string | null {
  const key = new URLSearchParams(window.location.hash.slice(1)).get(fragmentName);
  if (key === null) return null;
  window.history.replaceState(null, '', window.location.pathname + window.location.search);
  return key.trim() === '' ? null : key.trim();
}

/**
 * Begin a session with the key of a link where there is none.
 * @returns whether this tab has a session with another key: a link must not replace it by itself.
 */
export function followLink(key: string): boolean {
  const session = current.peek();
  if (session === null) begin(key);
  return session !== null && session.key !== key;
}

/**
 * Go on with another key, after asking the coordinator whether it is one that may look. Everything that the page knows was
 * read with the key before, so it starts again.
 * @throws as `signIn`; the session is as before then.
 */
export async function switchTo(key: string): Promise<void> {
  await signIn(key);
  window.location.reload();
}

/** What may be shown of a key: its role and id, which are no secret. */
export function nameOfKey(key: string): string {
  const [start] = /^svc_[a-z]+_[a-z0-9]+(?=_)/i.exec(key) ?? [];
  return start === undefined ? 'another key' : `the key ${start}_…`;
}

function begin(key: string): void {
  sessionStorage.setItem(keyName, key);
  sessionStorage.removeItem(roleName);
  signOutReason.value = null;
  current.value = { key, role: null };
}

function restore(): Session | null {
  const key = sessionStorage.getItem(keyName);
  if (key === null) return null;
  const stored = sessionStorage.getItem(roleName);
  return { key, role: roles.find((name) => name === stored) ?? null };
}
