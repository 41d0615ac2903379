import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type EventObject,
  transition,
} from 'xstate';

/** The leaves of a state value as paths: `{pending: 'ready'}` → `pending.ready`; one for each region. */
export function pathsOf({ value }: Pick<AnyMachineSnapshot, 'value'>): string[] {
  if (typeof value === 'string') return [value];
  return Object.entries(value as Record<string, AnyMachineSnapshot['value']>).flatMap(([key, child]) =>
    pathsOf({ value: child }).map((path) => `${key}.${path}`),
  );
}

/** The same as one text. */
export function pathOf(snapshot: AnyMachineSnapshot): string {
  return pathsOf(snapshot).join(', ');
}

/** The other way: `pending.ready` → `{pending: 'ready'}`. */
export function stateValueOf(paths: string): string | { [key: string]: string } {
  if (!paths.includes('.')) return paths;
  return Object.fromEntries(paths.split(', ').map((path) => path.split('.')));
}

export function stateNodes(machine: AnyStateMachine): AnyStateNode[] {
  const below = (node: AnyStateNode): AnyStateNode[] => [node, ...Object.values(node.states).flatMap(below)];
  return below(machine.root);
}

export const isTransient = (node: AnyStateNode): boolean => (node.always ?? []).length > 0;

/** Paths of the states in which the machine can come to rest. */
export function leaves(machine: AnyStateMachine): string[] {
  return stateNodes(machine)
    .filter((node) => Object.keys(node.states).length === 0 && !isTransient(node))
    .map((node) => node.path.join('.'));
}

export function next(
  machine: AnyStateMachine,
  snapshot: AnyMachineSnapshot,
  event: EventObject,
): AnyMachineSnapshot {
  return transition(machine, snapshot, event)[0] as AnyMachineSnapshot;
}

/** Everything of a snapshot that is kept, as JSON has it. */
export function kept(machine: AnyStateMachine, snapshot: AnyMachineSnapshot): unknown {
  return JSON.parse(JSON.stringify(machine.getPersistedSnapshot(snapshot)));
}

/** The events of a table's rows; one that says `lease` and the like is made for the context it meets. */
export type Rows<Event extends EventObject, Life> = Record<string, (life: Life) => Event>;

/** `true` when every event of the union has a row, else `never`: a new event does not compile before it has one. */
export type EveryEventHasARow<Event extends EventObject, Row> = [Event['type']] extends [
  Row extends `${infer Type} ${string}` ? Type : Row,
]
  ? true
  : never;

/**
 * Hold a machine against a table: a column is a situation, a row an event, a cell the state that follows, or `-` when
 * the event is refused. The first row names the situations. One test a cell, and one for the table's completeness.
 * @param situations snapshots by the name of their column.
 * @param rows events by the name of their row: the event's type and, after a blank, what is special.
 * @param region of a parallel machine: the cells are its states; what it refuses another region may take.
 */
export function checkTable<Life, Event extends EventObject>(
  what: string,
  machine: AnyStateMachine,
  situations: Record<string, AnyMachineSnapshot>,
  rows: Rows<Event, Life>,
  table: string,
  region?: string,
): void {
  const stateOf = (snapshot: AnyMachineSnapshot): string =>
    region === undefined ? pathOf(snapshot) : String(snapshot.value[region]);
  const [head = [], ...body] = table
    .trim()
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()));
  const columns = head.slice(1);

  test(`the table of the ${what} has a column for every situation and a row for every event`, (t) => {
    t.deepEqual([...columns].sort(), Object.keys(situations).sort());
    t.deepEqual(body.map(([name]) => name).sort(), Object.keys(rows).sort());
    for (const row of body) t.is(row.length, head.length, row[0]);
  });

  for (const [name = '', ...cells] of body) {
    for (const [index, column] of columns.entries()) {
      const expected = cells[index] ?? '';
      const does = expected === '-' ? 'refuses' : `goes to ${expected} on`;
      test(`${what}: ${column} ${does} ${name}`, (t) => {
        const snapshot = situations[column];
        const event = snapshot && rows[name]?.(snapshot.context as Life);
        if (!snapshot || !event) return t.fail('the table names a situation or an event that is not there');
        t.is(event.type, name.split(' ')[0] ?? '');
        const after = next(machine, snapshot, event);
        t.is(after.status === 'error', false);
        if (expected === '-' && region !== undefined && snapshot.can(event)) {
          t.is(stateOf(after), stateOf(snapshot));
        } else if (expected === '-') {
          t.false(snapshot.can(event));
          t.true(
            isDeepStrictEqual(kept(machine, after), kept(machine, snapshot)),
            'a refused event leaves a trace',
          );
        } else {
          t.true(snapshot.can(event));
          t.is(stateOf(after), expected);
        }
      });
    }
  }
}

/** The table of every state and every event of a machine. `_isWhole` holds the rows against the union of events. */
export function checkWholeTable<Life, Event extends EventObject>(
  what: string,
  machine: AnyStateMachine,
  situations: Record<string, AnyMachineSnapshot>,
  rows: Rows<Event, Life>,
  table: string,
  _isWhole: true,
): void {
  checkTable(what, machine, situations, rows, table);

  test(`the table of the ${what} leaves out no state and no event of the machine`, (t) => {
    t.deepEqual(Object.keys(situations).sort(), leaves(machine).sort());
    for (const [name, snapshot] of Object.entries(situations)) t.is(pathOf(snapshot), name);
    const types = new Set(Object.keys(rows).map((row) => row.split(' ')[0] ?? ''));
    t.deepEqual([...types].sort(), [...machine.events].sort());
  });
}
