import http from 'node:http';

/**
 * The proxies of the environment for `fetch`, as for everything else; never for this machine itself. Older versions of
 * Node do not support this.
 */
export function useProxies(env: NodeJS.ProcessEnv): void {
  const exempt = [env.no_proxy ?? env.NO_PROXY, 'localhost', '127.0.0.1', '::1'];
  const NO_PROXY = exempt.filter(Boolean).join(',');
  http.setGlobalProxyFromEnv?.({ ...env, NO_PROXY, no_proxy: NO_PROXY });
}
