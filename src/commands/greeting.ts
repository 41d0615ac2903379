import { isEveryAddress } from '../lib/hosts.ts';
import { signInLink } from './signInLink.ts';

/** The facts for the greeting of a started coordinator. */
export interface Greeting {
  /** `public_url`, or its address on this machine. */
  url: string;
  /** An admin key, when this process knows one. */
  adminKey: string | null;
  /** Whether this start created the key. */
  isNewKey: boolean;
  /** Whether the key is from the environment. */
  isOwnKey: boolean;
  /** File of the key unless it is from the environment. */
  keyFile: string;
  /** The host it listens on; null when `public_url` is set. */
  host: string | null;
  statelyUrl: string | null;
  /** Whether the output is a terminal. */
  isTerminal: boolean;
}

/**
 * The address of the coordinator and how to sign in. A key, alone or in a link, is only for a terminal: output stored
 * by a service manager or a container must not contain one. A key from the environment is never shown.
 */
export function greetingLines(greeting: Greeting): string[] {
  const { url, adminKey, isNewKey, isOwnKey, keyFile, host, statelyUrl, isTerminal } = greeting;
  const lines = [`SVC coordinator is ready at ${url}`];
  if (host !== null && isEveryAddress(host)) {
    const { hostname } = new URL(url);
    lines.push(
      `It listens on every address of this machine; from another machine, use its name instead of ${hostname}`,
    );
  }
  if (statelyUrl !== null)
    lines.push(
      `To see its actors in the Stately inspector, open this in a browser on this machine: ${statelyUrl}`,
    );
  if (isNewKey && isTerminal) lines.push(`Its admin key, stored in ${keyFile}:`, `  ${adminKey}`);
  else if (isNewKey) lines.push(`Its admin key is in ${keyFile}`);
  const showsLink = adminKey !== null && !isOwnKey && isTerminal;
  lines.push(
    showsLink ? `Dashboard, signed in: ${signInLink(url, adminKey)}` : `Dashboard: ${url}/, with an API key`,
  );
  return lines;
}
