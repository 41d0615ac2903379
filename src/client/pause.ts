/** Resolves after `ms`. @throws the signal's reason when that aborts. Uses only what Node and browsers share. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = (): void => {
    clearTimeout(timer);
    reject(signal?.reason);
  };
  const timer = setTimeout(() => {
    signal?.removeEventListener('abort', stop);
    resolve();
  }, ms);
  if (signal?.aborted === true) stop();
  else signal?.addEventListener('abort', stop, { once: true });
  return promise;
}
