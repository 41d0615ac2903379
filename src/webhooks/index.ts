/*
 * How webhooks are sent: as Standard Webhooks 1.0.0 describes it, signed with every secret that is valid, over a connection to
 * an address that was checked for this very try, from a thread of its own. Promises that nothing is sent to a network that the settings do not
 * allow, that no redirect is followed, and that a try ends within 15 s. What is sent, to whom and when is decided in the
 * coordinator.
 */

export type { Resolve } from './destination.ts';
export { HttpSender } from './httpSender.ts';
export { ThreadSender } from './threadSender.ts';
