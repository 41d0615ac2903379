import { ApiError, type Client, createClient } from '../client/client.ts';
import { messageOf } from '../domain/errors.ts';
import { version } from '../lib/version.ts';
import type { CompanionSettings } from './settings.ts';
import type { ConnectionTest, ShownCoordinator } from './state.ts';

/** The companion names itself in every request. */
export const userAgent = `svc-companion/${version}`;

const timeoutMs = 10_000;
const healthEveryMs = 10_000;
const costEveryMs = 60_000;

/** `fetch` with the companion's name. */
const fetchNamed: typeof globalThis.fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set('user-agent', userAgent);
  return fetch(input, { ...init, headers });
};

function namedClient({ coordinator, apiKey }: Pick<CompanionSettings, 'coordinator' | 'apiKey'>): Client {
  return createClient({ baseUrl: httpAddress(coordinator), apiKey, fetch: fetchNamed, timeoutMs });
}

/** The address of the API; a worker also takes ws and wss. */
export function httpAddress(coordinator: string): string {
  return coordinator.replace(/^ws(s?):/i, 'http$1:');
}

/** Whether a worker could use this address and key. Changes nothing. */
export async function testConnection(address: string, apiKey: string | null): Promise<ConnectionTest> {
  const url = httpAddress(address);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    return refused('This is not an address.', 'Enter one such as http://192.168.1.20:7420.');
  }
  let found: string;
  try {
    const { version: there, status } = await namedClient({ coordinator: url, apiKey: null }).health();
    found = `coordinator ${there}, ${status}`;
  } catch (error) {
    return refused(
      messageOf(error),
      'Check the address, and that the coordinator runs and can be reached from here.',
    );
  }
  if (apiKey === null) return refused(`There is a ${found}, but no key.`, createKey);
  const status = await statusWith(url, apiKey);
  if (status === 200) return { isUsable: true, message: `The ${found}, accepts the key.`, advice: null };
  if (status === 401) return refused('401 Unauthorized: the coordinator does not know this key.', createKey);
  if (status === 403) return refused('This key does not have the role worker.', createKey);
  if (status === 429) {
    return refused(
      'The coordinator throttles this address after wrong keys.',
      'Wait a minute, then try again.',
    );
  }
  return refused(
    `The coordinator answers with status ${status}.`,
    'Try again in a moment; its log says more.',
  );
}

const createKey =
  'An admin of the coordinator creates one with: svc keys create --role worker --name <name>. It is shown only once.';

function refused(message: string, advice: string): ConnectionTest {
  return { isUsable: false, message, advice };
}

/** The only path that a key with the role worker may read. @returns 0 without an answer. */
async function statusWith(url: string, apiKey: string): Promise<number> {
  try {
    const response = await fetchNamed(`${url.replace(/\/+$/, '')}/api/worker-config`, {
      headers: { authorization: `Bearer ${apiKey}` },
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    await response.body?.cancel();
    return response.status;
  } catch {
    return 0;
  }
}

/** Asks the coordinator every ten seconds whether it is there, and every minute what the worker's jobs cost today. */
export class CoordinatorWatch {
  readonly #onChange: () => void;
  #settings: CompanionSettings | null = null;
  #shown: ShownCoordinator = unknown;
  #timer: NodeJS.Timeout | null = null;
  #costAt = 0;
  /** The key may not read costs. */
  #isCostRefused = false;
  /** Counts settings: an answer for former ones is dropped. */
  #round = 0;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get shown(): ShownCoordinator {
    return this.#shown;
  }

  follow(settings: CompanionSettings | null): void {
    const { coordinator, apiKey } = settings ?? {};
    const isSame = coordinator === this.#settings?.coordinator && apiKey === this.#settings?.apiKey;
    this.#settings = settings;
    if (isSame) return;
    this.#round += 1;
    this.#costAt = 0;
    this.#isCostRefused = false;
    this.#shown = unknown;
    this.#later(0);
  }

  stop(): void {
    this.#round += 1;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #later(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const round = this.#round;
    this.#timer = setTimeout(() => {
      void this.#ask(round).finally(() => {
        if (round === this.#round) this.#later(healthEveryMs);
      });
    }, ms);
  }

  async #ask(round: number): Promise<void> {
    const settings = this.#settings;
    if (settings === null) return;
    let next: ShownCoordinator;
    try {
      const client = namedClient(settings);
      const health = await client.health();
      const costUsd = await this.#cost(client, settings);
      next = { isReachable: true, version: health.version, costUsd };
    } catch {
      next = { ...this.#shown, isReachable: false };
    }
    if (round !== this.#round || JSON.stringify(next) === JSON.stringify(this.#shown)) return;
    this.#shown = next;
    this.#onChange();
  }

  async #cost(client: Client, { apiKey, name }: CompanionSettings): Promise<number | null> {
    const isKnown = Date.now() - this.#costAt < costEveryMs;
    // A key with the role worker may read none, and a refusal would be in the coordinator's audit log.
    if (apiKey === null || apiKey.startsWith('svc_worker_') || this.#isCostRefused || isKnown) {
      return this.#shown.costUsd;
    }
    this.#costAt = Date.now();
    try {
      const tz = Intl.DateTimeFormat().resolvedOptions().timeZone;
      const { workers = [] } = await client.costBreakdown({ period: 'day', by: 'worker', tz });
      return workers.find((line) => line.name === name)?.cost_usd ?? 0;
    } catch (error) {
      this.#isCostRefused = error instanceof ApiError && error.status === 403;
      return null;
    }
  }
}

const unknown: ShownCoordinator = { isReachable: null, version: null, costUsd: null };
