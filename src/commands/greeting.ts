import { isEveryAddress } from '../lib/hosts.ts';
import { signInLink } from './signInLink.ts';

/** What a coordinator that has started is greeted with. */
export interface Greeting {
  /** `public_url`, or where it is reached from this machine. */
  url: string;
  /** A key with the role admin, when this process knows one. */
  adminKey: string | null;
  /** Whether that key was made by this very start. */
  isNewKey: boolean;
  /** Whether that key came by the environment. */
  isOwnKey: boolean;
  /** File that holds it unless it came by the environment. */
  keyFile: string;
  /** The host that it listens on; null when `public_url` says where it is reached. */
  host: string | null;
  statelyUrl: string | null;
  /** Whether a person reads it. */
  isTerminal: boolean;
}

/**
 * Where the coordinator is and how to get in. A key, alone or in a link, is for a terminal only: what a service manager or
 * a container keeps of the output must hold none. A key that came by the environment is never shown.
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
