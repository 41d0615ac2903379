import type { ConfigFile } from '../config/file.ts';
import { parseConfig } from '../config/load.ts';
import { problemLine } from '../config/problem.ts';
import { messageOf } from '../domain/errors.ts';

/** Far more than any configuration. */
const bytesMax = 1024 * 1024;
/** For the whole answer. */
const timeoutMs = 10_000;
const problemsShownMax = 5;

/** The remote configuration could not be read or used. The message says where and why, without secrets. */
export class RemoteConfigError extends Error {
  constructor(address: string, why: string) {
    super(`the remote configuration at ${address} cannot be used: ${why}`);
    this.name = 'RemoteConfigError';
  }
}

export interface RemoteConfigOptions {
  url: URL;
  /** Read at every request; null sends none. The key is only sent to `keyOrigin`. */
  apiKey: () => string | null;
  /** The coordinator's own origin, as known to this machine. */
  keyOrigin: string;
}

/** The result of one read. */
export interface RemoteFile {
  file: ConfigFile;
  warnings: string[];
}

/**
 * The remote configuration (SVC_CONFIG_URL): JSON or YAML with the keys of the file. Its answer is bounded in size and
 * time. Redirects are not followed: a redirect must not direct the key elsewhere.
 */
export class RemoteConfig {
  readonly #options: RemoteConfigOptions;
  #etag: string | null = null;

  constructor(options: RemoteConfigOptions) {
    this.#options = options;
  }

  /** Without the query, which may be a secret. */
  get address(): string {
    const { origin, pathname } = this.#options.url;
    return `${origin}${pathname}`;
  }

  /** Whether the worker's key is sent. */
  get sendsKey(): boolean {
    return this.#options.url.origin === this.#options.keyOrigin;
  }

  /** @returns null when it is the same as at the last successful read. @throws RemoteConfigError. */
  async read(): Promise<RemoteFile | null> {
    try {
      return await this.#read();
    } catch (error) {
      if (error instanceof RemoteConfigError) throw error;
      const isLate = error instanceof Error && error.name === 'TimeoutError';
      throw this.#failure(isLate ? `no answer within ${timeoutMs / 1000} s` : causeOf(error));
    }
  }

  async #read(): Promise<RemoteFile | null> {
    const response = await fetch(this.#options.url, {
      headers: this.#headers(),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      if (response.status === 304 && this.#etag !== null) return null;
      throw this.#failure(this.#statusText(response));
    }
    const text = await this.#text(response);
    if (text.trim() === '') throw this.#failure('the answer is empty');
    const { file, problems, warnings } = parseConfig(text, this.address);
    if (problems.length > 0) {
      const shown = problems.slice(0, problemsShownMax).map(problemLine);
      throw this.#failure(`it has ${problems.length} faults: ${shown.join('; ')}`);
    }
    this.#etag = response.headers.get('etag');
    return { file, warnings: [...warnings, ...unusedKeyFiles(file)] };
  }

  #headers(): Record<string, string> {
    const key = this.sendsKey ? this.#options.apiKey() : null;
    return {
      accept: 'application/json, application/yaml;q=0.9, */*;q=0.5',
      ...(this.#etag === null ? {} : { 'if-none-match': this.#etag }),
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    };
  }

  #statusText({ status, headers }: Response): string {
    if (status >= 300 && status < 400) return `status ${status}; redirects are not followed`;
    // Also when the address is throttled for its refused keys.
    const isKeyAtFault = /\binvalid_token\b/.test(headers.get('www-authenticate') ?? '');
    if (status !== 401 && status !== 403 && !isKeyAtFault) return `status ${status}`;
    return this.sendsKey
      ? `status ${status}: the coordinator refuses the key of this worker`
      : `status ${status}; the key of this worker is sent only to its coordinator, ${this.#options.keyOrigin}`;
  }

  async #text(response: Response): Promise<string> {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw this.#failure(`it is larger than ${bytesMax} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  #failure(why: string): RemoteConfigError {
    return new RemoteConfigError(this.address, why);
  }
}

/** A worker reads no file just because a remote configuration names it. */
function unusedKeyFiles({ providers }: ConfigFile): string[] {
  return Object.entries(providers ?? {})
    .filter(([, settings]) => settings?.api_key_file)
    .map(
      ([name]) =>
        `providers.${name}.api_key_file of the remote configuration is not used: name the file in the worker's own`,
    );
}

/** `fetch failed` says nothing; its cause does. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error && cause.message === '' && 'code' in cause
    ? String(cause.code)
    : messageOf(cause);
}
