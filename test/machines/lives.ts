import fc from 'fast-check';
import type { JobEvent } from '../../machines/events.ts';
import { errorClasses } from '../../src/domain/failure.ts';
import { dollar, failure, type Make, make, targetOf, usageOf } from './jobs.ts';

const target = fc.constantFrom('a', 'b', 'c').map((provider) => targetOf(provider));
const chain = fc.array(target, { maxLength: 3 });
/** How far behind, or ahead of, the job's own lease an event is. */
const behind = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: -2, max: 3 }) },
);
const usage = fc.option(fc.integer({ min: 0, max: 9 }).map(usageOf));

const sorts: fc.Arbitrary<Make>[] = [
  fc.constant(make.due),
  fc.constant(make.assigned),
  fc.constant(make.workerLost),
  fc.constant(make.workerReturned),
  fc.constant(make.released),
  usage.map((spent) => make.completed({ usage: spent, cost: dollar })),
  fc
    .record({
      errorClass: fc.constantFrom(...errorClasses),
      next: fc.option(target),
      usage,
    })
    .map(({ errorClass, ...fields }) => make.failed(errorClass, { ...fields, error: failure(errorClass) })),
  fc.record({ maxReaps: fc.integer({ min: 0, max: 3 }) }).map((fields) => make.reaped('reaped', fields)),
  fc.constant(make.reaped('lost')),
  usage.map((spent) => make.usageReported({ usage: spent })),
];
/** Those that end a job come less often, so that lives are long enough to be interesting. */
const endings: fc.Arbitrary<Make>[] = [
  fc.constant(make.cancelled),
  fc.constant(make.timedOut()),
  fc.constant(make.keyRevoked),
  fc.record({ target, chain }).map(make.retried),
];

const moved = fc
  .tuple(
    fc.oneof({ weight: 6, arbitrary: fc.oneof(...sorts) }, { weight: 1, arbitrary: fc.oneof(...endings) }),
    behind,
  )
  .map(
    ([maker, back]): Make =>
      (life) => {
        const event = maker(life);
        return 'lease' in event ? ({ ...event, lease: event.lease - back } as JobEvent) : event;
      },
  );

/** Random lives: `not_before`, the rest of the chain, and what happens, some of it late or of another lease. */
export const lives = fc.tuple(
  fc.option(fc.constantFrom(0, 5_000)),
  chain,
  fc.array(moved, { minLength: 1, maxLength: 60 }),
);
