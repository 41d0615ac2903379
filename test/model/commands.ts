import fc from 'fast-check';
import { Cancel, Dispatch, Pass, Restart, Retry, Say, SayLate, type Word } from './jobCommands.ts';
import { Connect, Drop, Turn } from './workerCommands.ts';

const number = fc.nat(50);
const tokens = fc.nat(1_000);

/** Every command, those that make work oftener. */
export const commands = [
  fc
    .constantFrom('high' as const, 'normal' as const, 'low' as const)
    .map((priority) => new Dispatch(priority)),
  fc
    .constantFrom('high' as const, 'normal' as const, 'low' as const)
    .map((priority) => new Dispatch(priority)),
  fc
    .record({
      name: fc.constantFrom('a', 'b', 'c'),
      slots: fc.integer({ min: 0, max: 3 }),
      isListing: fc.boolean(),
    })
    .map(({ name, slots, isListing }) => new Connect(name, slots, isListing)),
  number.map((index) => new Drop(index)),
  fc
    .record({ index: number, slots: fc.option(fc.integer({ min: 0, max: 3 })) })
    .map(({ index, slots }) => new Turn(index, slots)),
  fc
    .record({ index: number, word: fc.constantFrom<Word>('complete', 'fail', 'stumble', 'release'), tokens })
    .map((said) => new Say(said.index, said.word, said.tokens)),
  fc.record({ index: number, tokens }).map((said) => new SayLate(said.index, said.tokens)),
  number.map((index) => new Cancel(index)),
  number.map((index) => new Retry(index)),
  fc.constant(new Pass()),
  fc.constant(new Restart()),
];
