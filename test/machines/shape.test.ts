import { readdirSync, readFileSync } from 'node:fs';
import test from 'ava';
import { type AnyMachineSnapshot, type AnyStateMachine, createMachine } from 'xstate';
import { definitionOf } from '../../src/inspect/stately.ts';
import { walks } from './every.ts';
import { kept, next, stateNodes } from './stateTable.ts';

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value);
    for (const part of Object.values(value)) frozen(part);
  }
  return value;
}

function isName(value: unknown): boolean {
  return typeof value === 'string' || (value !== null && typeof value === 'object' && 'type' in value);
}

/** What a machine names: of each state what is done on the way in and out, of each transition guard and actions. */
function implementationsIn(machine: AnyStateMachine) {
  return stateNodes(machine).flatMap(({ id, entry, exit, always = [], transitions }) => [
    { label: `${id} on its way in and out`, guard: undefined, actions: [...entry, ...exit] },
    ...[...always, ...[...transitions.values()].flat()].map(({ eventType, guard, actions }) => {
      return { label: `${id} on ${eventType}`, guard, actions };
    }),
  ]);
}

for (const [name, { machine, situations, events }] of Object.entries(walks)) {
  test(`the ${name} and each of its states say what they are`, (t) => {
    for (const { id, description } of stateNodes(machine)) {
      t.regex(description ?? '', /^[A-Z].{10,}\.$/, id);
    }
  });

  test(`the guards and actions of the ${name} are names, so tools that read it see them`, (t) => {
    const unnamed = implementationsIn(machine).filter(
      ({ guard, actions }) => (guard !== undefined && !isName(guard)) || !actions.every(isName),
    );
    t.deepEqual(
      unnamed.map(({ label }) => label),
      [],
    );
  });

  test(`the ${name} that the Stately viewer gets has every state, event, guard and action`, (t) => {
    const exported = createMachine(JSON.parse(definitionOf(machine)));
    t.deepEqual(implementationsIn(exported), implementationsIn(machine));
  });

  test(`the ${name} is pure: the same snapshot and event give the same next one, and neither is changed`, (t) => {
    for (const snapshot of Object.values(situations)) {
      frozen(snapshot.context);
      for (const event of frozen(events(snapshot))) {
        const once = next(machine, snapshot, event);
        const twice = next(machine, snapshot, structuredClone(event));
        t.is(once.status === 'error', false, event.type);
        t.deepEqual(kept(machine, once), kept(machine, twice));
      }
    }
  });

  test(`what a ${name} remembers is plain JSON, whatever happens to it`, (t) => {
    const plain = ({ context }: AnyMachineSnapshot, why: string): void => {
      t.deepEqual(structuredClone(context), context, why);
      t.deepEqual(JSON.parse(JSON.stringify(context ?? {})), context ?? {}, why);
    };
    for (const [state, snapshot] of Object.entries(situations)) {
      plain(snapshot, state);
      for (const event of events(snapshot))
        plain(next(machine, snapshot, event), `${state} after ${event.type}`);
    }
  });
}

const folder = new URL('../../machines/', import.meta.url);
for (const file of readdirSync(folder)) {
  const source = readFileSync(new URL(file, folder), 'utf8');

  test(`machines/${file} imports only xstate, the vocabulary and its neighbours`, (t) => {
    const imports = [...source.matchAll(/from\s+'([^']+)'|import\s*\(?\s*'([^']+)'/g)].map(
      ([, a, b]) => a ?? b,
    );
    t.is(imports.length > 0, /^import /m.test(source));
    for (const path of imports) t.regex(path ?? '', /^(xstate|\.\.\/src\/domain\/\w+\.ts|\.\/\w+\.ts)$/);
  });

  test(`machines/${file} asks neither the clock nor chance nor the process`, (t) => {
    const asked =
      /\bDate\b|\bperformance\b|Math\.random|crypto|setTimeout|setInterval|\bprocess\.\w|\bafter:/.exec(
        source,
      );
    t.is(asked, null);
  });
}
