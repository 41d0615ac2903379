import test from 'ava';
import fc from 'fast-check';
import type { Member, Strategy } from '../../src/routing/member.ts';

const member = fc.record({
  provider: fc.constantFrom('a', 'b', 'c', 'd'),
  state: fc.constantFrom('ready', 'busy', 'skipped'),
  until: fc.option(fc.nat(), { nil: null }),
  load: fc.double({ min: 0, max: 1, noNaN: true }),
  price: fc.option(fc.double({ min: 0, max: 100, noNaN: true }), { nil: null }),
  latencyMs: fc.option(fc.nat(), { nil: null }),
});

/** Any fleet: each provider once, in any state. */
const members = fc.uniqueArray(member, { selector: ({ provider }) => provider, minLength: 1 }).map((list) =>
  list.map(
    ({ provider, ...rest }): Member => ({
      ...rest,
      target: { provider, model: null, worker: null, workerTag: null },
      model: null,
      why: 'so',
    }),
  ),
);

/** What every strategy promises, whatever the fleet looks like. */
export function testStrategy(name: string, strategy: Strategy): void {
  const check = (holds: (list: Member[], picked: Member | null, turn: number) => boolean) =>
    fc.assert(fc.property(members, fc.nat(), (list, turn) => holds(list, strategy(list, turn), turn)));

  test(`${name} picks a member of the chain, never one that is skipped`, (t) => {
    check((list, picked) => picked === null || (list.includes(picked) && picked.state !== 'skipped'));
    t.pass();
  });

  test(`${name} gives the same answer to the same question and changes nothing`, (t) => {
    check((list, picked, turn) => {
      const copy = structuredClone(list);
      return strategy(list, turn) === picked && JSON.stringify(list) === JSON.stringify(copy);
    });
    t.pass();
  });

  test(`${name} gives up only when every member is skipped`, (t) => {
    check(
      (list, picked) =>
        picked !== null ||
        list.every(({ state }) => state === 'skipped') ||
        (name === 'direct' && list[0]?.state === 'skipped'),
    );
    t.pass();
  });
}
