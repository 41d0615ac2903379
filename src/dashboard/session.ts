import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { type Client, createClient } from '../client/client.ts';
import { ApiError } from '../client/errors.ts';
import { environmentKeyId, type Role, roleMay, roles } from '../domain/key.ts';
import { explain } from './components/toasts.tsx';
import { baseUrl } from './root.ts';
import { type SharedSession, Tabs } from './sharedSession.ts';

/** The session, stored for this tab: it survives a reload, and is lost with the tab. Other tabs get it on request. */
const itemName = 'svc.session';
/** `#key=…`: a fragment never leaves the browser, so the key is in no log of a server or a proxy. */
const fragmentName = 'key';
const unendedText =
  'You are signed out here, but the coordinator could not be reached to end the session. It ends after 30 days at most; an admin can end it on the Keys page.';

const current = signal<SharedSession | null>(restore());
/** Why the reader was signed out, or a link failed to sign in: for the sign-in page. */
export const signOutReason = signal<string | null>(null);
/** Whether a key is being exchanged for a session. */
export const isSigningIn = signal(false);

export const isSignedIn: ReadonlySignal<boolean> = computed(() => current.value !== null);
export const role: ReadonlySignal<Role | null> = computed(() => current.value?.role ?? null);
/** The key that created this session; null when there is none. */
export const keyId: ReadonlySignal<string | null> = computed(() => current.value?.keyId ?? null);

const tabs = new Tabs({
  session: () => current.peek(),
  onGiven: (session) => {
    // A key being used to sign in has priority over the session of another tab.
    if (current.peek() === null && !isSigningIn.peek()) begin(session);
  },
  onEnded: () => signOut(null),
});

/** The API with the secret of this session. */
export const api: ReadonlySignal<Client> = computed(() => clientWith(current.value?.key ?? null));

/** The secret of this session: for commands that the reader wants to try. */
export function sessionKey(): string | null {
  return current.value?.key ?? null;
}

/** Whether the session has the rights of `needed`. Hides buttons; the coordinator checks by itself. */
export function may(needed: Role): boolean {
  return role.value !== null && roleMay(role.value, needed);
}

/**
 * Create a session with a key and start it here. The key itself is not stored.
 * @throws ApiError authentication_failed, forbidden or store_unavailable; Unreachable.
 */
export async function signIn(text: string): Promise<void> {
  isSigningIn.value = true;
  try {
    const made = await clientWith(text.trim()).createSession();
    begin({ id: made.id, key: made.key, keyId: made.key_id, role: knownRole(made.role) });
  } finally {
    isSigningIn.value = false;
  }
}

/** Why a key failed to sign in, for people. */
export function refusalText(error: unknown): string {
  if (error instanceof ApiError && error.status === 401) return 'The coordinator does not know this key.';
  if (error instanceof ApiError && error.status === 403)
    return `This key cannot sign in to the dashboard. ${error.detail}.`;
  return explain(error);
}

/** Forget the session in this tab. @param reason shown on the sign-in page; null for the reader's own wish. */
export function signOut(reason: string | null): void {
  sessionStorage.removeItem(itemName);
  signOutReason.value = reason;
  current.value = null;
}

/** The coordinator reported the session's role. An unknown role counts as viewer. */
export function setRole(text: string): void {
  const session = current.peek();
  if (session === null) return;
  const known = knownRole(text);
  if (session.role !== known) keep({ ...session, role: known });
}

/** Sign out: in every tab with this session, and at the coordinator. */
export function signOutEverywhere(): void {
  const session = current.peek();
  if (session === null) return;
  signOut(null);
  tabs.end(session.id);
  clientWith(session.key)
    .endSession('current')
    .catch((error: unknown) => {
      // Another tab, or an admin, was faster.
      if (error instanceof ApiError && error.status === 401) return;
      if (current.peek() === null) signOutReason.value = unendedText;
    });
}

/** Request the session of other tabs; resolves when this tab is signed in, or none has answered. */
export async function joinOtherTabs(): Promise<void> {
  if (current.peek() === null) await tabs.ask();
}

/**
 * Take the key from the address, `#key=…`, and remove it there at once, also from the history. @returns null: there is
 * none.
 */
export function takeKeyOfLink(): string | null {
  const key = new URLSearchParams(window.location.hash.slice(1)).get(fragmentName);
  if (key === null) return null;
  window.history.replaceState(null, '', window.location.pathname + window.location.search);
  return key.trim() === '' ? null : key.trim();
}

/**
 * Start a session with the key of a link where there is none; the sign-in page shows failures.
 * @returns whether this tab has a session of another key: a link must not replace it without asking.
 */
export async function followLink(key: string): Promise<boolean> {
  const session = current.peek();
  if (session !== null) return session.keyId !== idOfKey(key);
  await signIn(key).catch((error: unknown) => {
    signOutReason.value = refusalText(error);
  });
  return false;
}

/**
 * Switch to a session of another key. All data on the page belongs to the old one, so the page restarts. Other tabs
 * keep the old one.
 * @throws as `signIn`; the session is unchanged then.
 */
export async function switchTo(key: string): Promise<void> {
  await signIn(key);
  window.location.reload();
}

/** The public parts of a key: its role and id. */
export function nameOfKey(key: string): string {
  const [start] = startOfKey.exec(key) ?? [];
  return start === undefined ? 'another key' : `the key ${start}_…`;
}

const startOfKey = /^svc_[a-z]+_([a-z0-9]+)(?=_)/i;

/** A key in another form can only be the one of the coordinator's environment. */
function idOfKey(key: string): string {
  return startOfKey.exec(key)?.[1]?.toLowerCase() ?? environmentKeyId;
}

function clientWith(apiKey: string | null): Client {
  return createClient({ baseUrl, apiKey, fetch: (...call) => window.fetch(...call) });
}

function begin(session: SharedSession): void {
  signOutReason.value = null;
  keep(session);
}

function keep(session: SharedSession): void {
  sessionStorage.setItem(itemName, JSON.stringify(session));
  current.value = session;
}

function restore(): SharedSession | null {
  const kept = sessionStorage.getItem(itemName);
  return kept === null ? null : (JSON.parse(kept) as SharedSession);
}

function knownRole(text: string): Role {
  return roles.find((name) => name === text) ?? 'viewer';
}
