import { nobody } from '../../src/domain/audit.ts';
import type { JobRecord } from '../../src/domain/job.ts';
import { isTerminal } from '../../src/domain/states.ts';
import type { WireBulk } from '../../src/domain/wire/job.ts';
import { type BulkAction, changeMany } from '../../src/http/routes/jobs/bulk.ts';
import type { JobFilter } from '../../src/store/store.ts';
import { everything } from '../store/jobs.ts';
import type { Checker } from './checker.ts';
import type { Ask } from './clients.ts';
import type { Dice } from './dice.ts';
import { providerNames } from './fleet.ts';

/** What a client asks for in bulk, and holds the answer against what was durable when it was asked. */
export class BulkChanges {
  readonly #dice: Dice;
  readonly #ask: Ask;
  readonly #checker: Checker;
  readonly #archives: () => boolean;

  /** Jobs that were changed, as it was told. */
  changed = 0;

  /** @param options.archives whether jobs may have left for the archive, where no filter finds them. */
  constructor(options: { dice: Dice; ask: Ask; checker: Checker; archives: () => boolean }) {
    this.#dice = options.dice;
    this.#ask = options.ask;
    this.#checker = options.checker;
    this.#archives = options.archives;
  }

  /** By ids that the client knows. */
  ofIds(action: BulkAction, known: readonly string[]): void {
    const ids = [...new Set(Array.from({ length: this.#dice.int(1, 12) }, () => this.#dice.pick(known)))];
    this.#ask(
      `${action} ${ids.join(' ')}`,
      (coordinator) => changeMany(coordinator, action, { ids }, nobody),
      (told, answer) => {
        if (told !== 'ok' || answer === null) return;
        this.changed += answer.changed;
        this.#heldAgainst(action, ids, answer);
        const { changed, refused_count: refusedCount } = answer;
        if (changed + refusedCount !== ids.length)
          this.#checker.breach(`of ${ids.length} jobs ${changed} were changed and ${refusedCount} refused`);
      },
    );
  }

  /** By a filter: afterwards no job is left that it meant. */
  ofFilter(action: BulkAction): void {
    const filter = this.#filter();
    let meant: JobRecord[] = [];
    this.#ask(
      `${action} all of ${JSON.stringify({ tags: filter.tags, provider: filter.provider })}`,
      (coordinator) => {
        meant = [...this.#checker.jobs.values()].filter(
          (job) =>
            isMeant(job, filter) && (action === 'cancel' ? !isTerminal(job.state) : job.state === 'failed'),
        );
        return changeMany(coordinator, action, { filter }, nobody);
      },
      (told, answer) => {
        if (told !== 'ok' || answer === null) return;
        this.changed += answer.changed;
        const refused = new Set(answer.refused.map(({ id }) => id));
        for (const before of meant) {
          const now = this.#checker.jobs.get(before.id);
          if (now === undefined || refused.has(before.id)) continue;
          const isPassedOver =
            action === 'cancel'
              ? !isTerminal(now.state) && now.life.retryCount === before.life.retryCount
              : now.state === 'failed' && now.version === before.version && !this.#archives();
          if (isPassedOver)
            this.#checker.breach(`${action} of all passed over ${before.id}, which is ${now.state}`);
        }
      },
    );
  }

  #filter(): JobFilter {
    const dice = this.#dice;
    if (dice.chance(0.1)) return everything;
    return dice.pick([
      { ...everything, tags: ['tagged'] },
      { ...everything, provider: dice.pick(providerNames) },
      { ...everything, provider: dice.pick(providerNames), tags: ['tagged'] },
    ]);
  }

  #heldAgainst(action: BulkAction, ids: readonly string[], { refused }: WireBulk): void {
    const refusals = new Map(refused.map(({ id, code }) => [id, code]));
    for (const id of ids) {
      const code = refusals.get(id);
      const job = this.#checker.jobs.get(id);
      if (code === 'job_not_found') this.#checker.breach(`${id} is not found`);
      if (code === undefined && action === 'cancel' && job?.state !== 'cancelled')
        this.#checker.breach(`${id} was answered as cancelled and is ${job?.state}`);
      if (code === undefined && action === 'retry' && (job?.life.retryCount ?? 0) === 0)
        this.#checker.breach(`${id} was answered as retried and never was`);
    }
  }
}

function isMeant({ request }: JobRecord, { tags, provider }: JobFilter): boolean {
  return (
    tags.every((tag) => request.tags.includes(tag)) && (provider === null || request.provider === provider)
  );
}
