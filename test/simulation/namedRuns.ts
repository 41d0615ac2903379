import type { Coordinator } from '../../src/coordinator/coordinator.ts';
import { jobIdOf } from '../../src/coordinator/runs/lineId.ts';
import { nobody } from '../../src/domain/audit.ts';
import type { JobRequest } from '../../src/domain/job.ts';
import type { Principal } from '../../src/domain/key.ts';
import { hasEnded, noTotals, type RunRecord } from '../../src/domain/run.ts';
import { statusOf } from '../../src/domain/states.ts';
import type { Checker } from './checker.ts';
import type { Ask } from './clients.ts';
import type { Dice } from './dice.ts';

const names = ['ann', 'bob', 'cid'] as const;
type Name = (typeof names)[number];

const sender: Principal = { keyId: 'runs', name: null, role: 'admin', bounds: null, secretHash: '' };
/** `ann` pauses by itself now and then. */
const limitsOf = (name: Name) => ({ maxCost: null, maxFailures: name === 'ann' ? 5 : null, deadline: null });
const noLimits = { maxCost: null, maxFailures: null, deadline: null };

/** Clients that send files under a name, again and again, and hold what they are told against what is durable. */
export class NamedRuns {
  readonly #dice: Dice;
  readonly #ask: Ask;
  readonly #checker: Checker;
  readonly #request: () => { name: string; request: JobRequest };
  readonly #ids = new Map<Name, string>();
  readonly #lines = new Map<Name, { lineId: string; name: string; request: JobRequest }[]>();

  constructor(options: {
    dice: Dice;
    ask: Ask;
    checker: Checker;
    request: () => { name: string; request: JobRequest };
  }) {
    this.#dice = options.dice;
    this.#ask = options.ask;
    this.#checker = options.checker;
    this.#request = options.request;
  }

  /** One thing that some client does. */
  act(): void {
    const name = this.#dice.pick(names);
    const choice = this.#dice.int(0, 99);
    if (choice < 60) this.#send(name);
    else if (choice < 75) this.#turn('pause', name, (runs) => runs.pause(name, nobody, 'simulated'));
    else if (choice < 90) this.#turn('resume', name, (runs) => runs.resume(name, limitsOf(name), nobody));
    else if (choice < 97) this.#turn('retry', name, (runs) => runs.retry(name, null, nobody));
    else if (name === 'cid') this.#turn('cancel', name, (runs) => runs.cancel(name, nobody));
  }

  /** Every run goes on, whatever held it back, also one whose sender was told nothing. */
  turnBack(): void {
    for (const name of names) this.#turn('resume', name, (runs) => runs.resume(name, noLimits, nobody));
  }

  #turn(verb: string, name: Name, task: (runs: Coordinator['runs']) => Promise<unknown>): void {
    this.#ask(
      `${verb} run ${name}`,
      ({ runs }) => task(runs),
      () => {},
    );
  }

  /** Some lines that are known, and some that are new. */
  #send(name: Name): void {
    const known = this.#lines.get(name) ?? [];
    this.#lines.set(name, known);
    const fresh = Array.from({ length: this.#dice.int(0, 8) }, (_, index) => ({
      lineId: `line-${known.length + index}`,
      ...this.#request(),
    }));
    const again = known.filter(() => this.#dice.chance(0.3));
    known.push(...fresh);
    const lines = [...again, ...fresh];
    this.#ask(
      `send ${lines.map(({ lineId }) => lineId).join(' ')} of run ${name}`,
      (coordinator) => this.#sent(coordinator, name, lines),
      (told, id) => {
        if (told !== 'ok' || id === null) return;
        const before = this.#ids.get(name);
        if (before !== undefined && before !== id)
          this.#checker.breach(`run ${name} was ${before} and is ${id}`);
        this.#ids.set(name, id);
        for (const line of lines) this.#checker.told(line.name, 'ok', jobIdOf(id, line.lineId));
      },
    );
  }

  async #sent(
    coordinator: Coordinator,
    name: Name,
    lines: readonly { lineId: string; request: JobRequest }[],
  ): Promise<string> {
    const { runs } = coordinator;
    const { view } = await runs.create({ name, limits: limitsOf(name), defaults: {} }, sender);
    const planned = lines.map(({ lineId, request }) => ({ lineId, planned: coordinator.plan(request) }));
    const { created, known } = await runs.add(name, planned, null);
    if (created + known !== lines.length)
      this.#checker.breach(`of ${lines.length} lines ${created} were created and ${known} known`);
    return view.run.id;
  }

  /** At rest: the totals of every run are those of its jobs, and it has ended. */
  audit({ runs }: Coordinator): void {
    for (const { run } of runs.list([], 1_000, 0).runs) {
      const found = this.#totalsOf(run.id);
      for (const [name, value] of Object.entries(found)) {
        const told = run.totals[name as keyof typeof found];
        if (told !== value) this.#checker.breach(`run ${run.name} has ${told} ${name}, its jobs ${value}`);
      }
      const failed = run.totals.failures.reduce((sum, { count }) => sum + count, 0);
      if (failed !== run.totals.failed)
        this.#checker.breach(`run ${run.name} has ${run.totals.failed} failures, grouped ${failed}`);
      this.#checkEnd(run);
    }
  }

  #totalsOf(runId: string) {
    const { failures: _, ...sums } = { ...noTotals };
    for (const { run, state, life } of this.#checker.jobs.values()) {
      if (run?.runId !== runId) continue;
      sums[statusOf(state)] += 1;
      for (const { outcome, usage, cost, estimate = 0 } of life.attempts) {
        if (outcome === null) {
          sums.reserved += estimate;
          continue;
        }
        sums.nanoDollars += cost.nanoDollars ?? 0;
        if (cost.status === 'unknown') {
          sums.unknown += 1;
          sums.assumed += estimate;
        }
        sums.inputTokens += usage?.inputTokens ?? 0;
        sums.outputTokens += usage?.outputTokens ?? 0;
      }
    }
    return sums;
  }

  #checkEnd({ name, state, totals }: RunRecord): void {
    if (hasEnded(totals) && state !== 'completed' && state !== 'cancelled')
      this.#checker.breach(`all jobs of run ${name} have ended, and it is ${state}`);
  }
}
