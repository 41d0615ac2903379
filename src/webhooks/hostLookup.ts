import { lookup, Resolver } from 'node:dns/promises';
import type { Clock } from '../domain/clock.ts';
import { type Address, HeldUp, Refused, type Resolve } from './destination.ts';
import { isInHostsFile } from './hostsFile.ts';

/** How long name servers may take for a host, and how long a lookup waits for others, ms: less than a try has in all. */
const answerMs = 10_000;
/** Until name servers are asked again, and how often they are asked, in this time. */
const repeatMs = 3_000;
const asksMax = 3;
/** How much longer the addresses of one family are waited for than those of the other, ms. */
const otherFamilyMs = 500;

const systemResolve: Resolve = (hostname) => lookup(hostname, { all: true, verbatim: true });

interface Options {
  clock: Clock;
  /** Name servers with ports, for tests; those of the system unless given. */
  servers?: readonly string[];
  /** How the system looks a host up, for tests. */
  system?: Resolve;
}

/**
 * Looks hosts up so that one whose name servers do not answer holds up no other: the system's own lookups block threads, of
 * which the process has two. Name servers are therefore asked without a thread. The system looks up the names of its hosts
 * file, which takes no time, and, one at a time, those that name servers do not know: of the local network, or with a
 * search domain. All who ask for a host while it is looked up share the answer.
 */
export class HostLookup {
  readonly #clock: Clock;
  readonly #servers: readonly string[] | null;
  readonly #system: Resolve;
  readonly #underWay = new Map<string, Promise<Address[]>>();
  /** Those that wait for the one lookup of the system. */
  readonly #waiting = new Set<() => void>();
  #isSystemBusy = false;

  constructor({ clock, servers, system = systemResolve }: Options) {
    this.#clock = clock;
    this.#servers = servers ?? null;
    this.#system = system;
  }

  /**
   * @returns none when there is no such host. @throws Refused when its name servers do not answer; HeldUp when other lookups
   * take too long; what the lookup of the system throws.
   */
  addressesOf(hostname: string): Promise<Address[]> {
    const known = this.#underWay.get(hostname);
    if (known !== undefined) return known;
    const asked = this.#lookUp(hostname).finally(() => this.#underWay.delete(hostname));
    this.#underWay.set(hostname, asked);
    return asked;
  }

  async #lookUp(hostname: string): Promise<Address[]> {
    if (await isInHostsFile(hostname)) return this.#system(hostname);
    const addresses = await this.#askNameServers(hostname);
    if (addresses.length > 0) return addresses;
    await this.#systemTurn();
    try {
      return await this.#system(hostname);
    } finally {
      this.#endSystemTurn();
    }
  }

  /** @returns none when name servers know none. @throws Refused when they do not answer. */
  async #askNameServers(hostname: string): Promise<Address[]> {
    // A new one reads the settings of the system, and remembers no answers.
    const resolver = new Resolver({ timeout: repeatMs, tries: asksMax });
    if (this.#servers !== null) resolver.setServers(this.#servers);
    const cancels = [this.#clock.after(answerMs, () => resolver.cancel())];
    const ask = async (answer: Promise<string[]>, family: number): Promise<Address[]> => {
      const addresses = (await answer).map((address) => ({ address, family }));
      // Some name servers never answer for IPv6.
      if (addresses.length > 0) cancels.push(this.#clock.after(otherFamilyMs, () => resolver.cancel()));
      return addresses;
    };
    const answers = await Promise.allSettled([
      ask(resolver.resolve4(hostname), 4),
      ask(resolver.resolve6(hostname), 6),
    ]);
    for (const cancel of cancels) cancel();
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const isSilent = answers.some((answer) => answer.status === 'rejected' && isSilence(answer.reason));
    if (addresses.length === 0 && isSilent)
      throw new Refused(`the name servers did not answer for ${hostname}`);
    return addresses;
  }

  /** Wait for the one lookup of the system. @throws HeldUp when it takes too long. */
  #systemTurn(): Promise<void> {
    if (!this.#isSystemBusy) {
      this.#isSystemBusy = true;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const begin = () => {
        cancel();
        resolve();
      };
      const cancel = this.#clock.after(answerMs, () => {
        this.#waiting.delete(begin);
        reject(new HeldUp('other hosts are being looked up, which takes too long'));
      });
      this.#waiting.add(begin);
    });
  }

  #endSystemTurn(): void {
    const [next] = this.#waiting;
    this.#isSystemBusy = next !== undefined;
    if (next === undefined) return;
    this.#waiting.delete(next);
    next();
  }
}

function isSilence(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return code === 'ETIMEOUT' || code === 'ECANCELLED';
}
