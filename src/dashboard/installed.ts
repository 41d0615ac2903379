import { effect } from '@preact/signals';
import { root } from './root.ts';
import { notifies } from './shell/preferences.ts';

/** Browsers without trusted types take the address itself. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: () => string },
  ): { createScriptURL: (text: string) => string };
}

declare global {
  interface Window {
    readonly trustedTypes?: TrustedTypes;
  }
}

/**
 * An installed dashboard, and one that notifies, has a page to show while the coordinator does not answer. Others need no
 * service worker.
 */
export function startInstalled(): void {
  if (!('serviceWorker' in navigator)) return;
  const createScriptURL = (): string => new URL('sw.js', root).href;
  // The policy of the page allows this one. It is made at once, so that no other script can.
  const policy = window.trustedTypes?.createPolicy('svc-offline', { createScriptURL }) ?? { createScriptURL };
  const register = (): void => {
    navigator.serviceWorker.register(policy.createScriptURL('')).catch(() => {});
  };
  if (window.matchMedia('(display-mode: standalone)').matches) register();
  window.addEventListener('appinstalled', register);
  effect(() => {
    if (notifies.value) register();
  });
}
