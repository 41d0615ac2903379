import test from 'ava';
import { transition } from 'xstate';
import type { SupervisorEvent } from '../../machines/events.ts';
import { supervisorMachine } from '../../machines/supervisorMachine.ts';
import { type SupervisorSnapshot, supervisor, supervisorAfter } from './fleet.ts';
import { checkTable, type EveryEventHasARow, type Rows } from './stateTable.ts';

const { passing, ...supervisors } = supervisorsByName();

/** Situations of the supervisor, by what is special in them. */
function supervisorsByName() {
  const { open, recovered, pause, drain, stop, passEnded, passFailed, deadline } = supervisor;
  const idle = [open, recovered, passEnded] as const;
  return {
    starting: supervisorAfter(),
    recovering: supervisorAfter(open),
    accepting: supervisorAfter(...idle),
    paused: supervisorAfter(...idle, pause),
    draining: supervisorAfter(...idle, drain),
    stopped: supervisorAfter(stop),
    passing: {
      passing: supervisorAfter(open, recovered),
      'passing, paused': supervisorAfter(open, recovered, pause),
      backingOff: supervisorAfter(open, recovered, passFailed),
      'backingOff, paused': supervisorAfter(open, recovered, passFailed, pause),
      sweeping: supervisorAfter(...idle, deadline),
    },
  };
}

const supervisorRows = {
  'supervisor.open': () => supervisor.open,
  'supervisor.recovered': () => supervisor.recovered,
  'supervisor.recovered paused': () => supervisor.recoveredPaused,
  'supervisor.pause': () => supervisor.pause,
  'supervisor.resume': () => supervisor.resume,
  'supervisor.drain': () => supervisor.drain,
  'supervisor.stop': () => supervisor.stop,
  'work.arrived': () => supervisor.work,
  'slot.freed': () => supervisor.slot,
  'pass.ended': () => supervisor.passEnded,
  'pass.ended with more': () => supervisor.passEndedWithMore,
  'pass.failed': () => supervisor.passFailed,
  'retry.due': () => supervisor.retryDue,
  'deadline.reached': () => supervisor.deadline,
  'deadline.reached late': () => supervisor.lateDeadline,
  'sweep.ended': () => supervisor.sweepEnded,
  'stall.noticed': () => supervisor.stall,
} satisfies Rows<SupervisorEvent, unknown>;
const isSupervisorWhole: EveryEventHasARow<SupervisorEvent, keyof typeof supervisorRows> = true;

test('the tables of the supervisor leave out no event of the machine', (t) => {
  t.true(isSupervisorWhole);
  const types = new Set(Object.keys(supervisorRows).map((row) => row.split(' ')[0] ?? ''));
  t.deepEqual([...types].sort(), [...supervisorMachine.events].sort());
});

checkTable<unknown, SupervisorEvent>(
  'supervisor (admission)',
  supervisorMachine,
  supervisors,
  supervisorRows,
  `
event                       | starting   | recovering | accepting | paused    | draining | stopped
supervisor.open             | recovering | -          | -         | -         | -        | -
supervisor.recovered        | -          | accepting  | -         | -         | -        | -
supervisor.recovered paused | -          | paused     | -         | -         | -        | -
supervisor.pause            | -          | -          | paused    | -         | -        | -
supervisor.resume           | -          | -          | -         | accepting | -        | -
supervisor.drain            | -          | -          | draining  | draining  | -        | -
supervisor.stop             | stopped    | stopped    | stopped   | stopped   | stopped  | -
work.arrived                | -          | -          | -         | -         | -        | -
slot.freed                  | -          | -          | -         | -         | -        | -
pass.ended                  | -          | -          | -         | -         | -        | -
pass.ended with more        | -          | -          | -         | -         | -        | -
pass.failed                 | -          | -          | -         | -         | -        | -
retry.due                   | -          | -          | -         | -         | -        | -
deadline.reached            | -          | -          | -         | -         | -        | -
deadline.reached late       | -          | -          | -         | -         | -        | -
sweep.ended                 | -          | -          | -         | -         | -        | -
stall.noticed               | -          | -          | -         | -         | -        | -
`,
  'admission',
);

checkTable<unknown, SupervisorEvent>(
  'supervisor (assigning)',
  supervisorMachine,
  { ...supervisors, ...passing },
  supervisorRows,
  `
event                       | starting | recovering | accepting | paused  | draining | stopped | passing    | passing, paused | backingOff | backingOff, paused | sweeping
supervisor.open             | -        | -          | -         | -       | -        | -       | -          | -               | -          | -                  | -
supervisor.recovered        | -        | passing    | -         | -       | -        | -       | -          | -               | -          | -                  | -
supervisor.recovered paused | -        | -          | -         | -       | -        | -       | -          | -               | -          | -                  | -
supervisor.pause            | -        | -          | -         | -       | -        | -       | -          | -               | -          | -                  | -
supervisor.resume           | -        | -          | -         | passing | -        | -       | -          | -               | -          | -                  | -
supervisor.drain            | -        | -          | -         | -       | -        | -       | -          | -               | -          | -                  | -
supervisor.stop             | stopped  | stopped    | stopped   | stopped | stopped  | -       | stopped    | stopped         | stopped    | stopped            | stopped
work.arrived                | -        | -          | passing   | -       | -        | -       | -          | -               | -          | -                  | passing
slot.freed                  | -        | -          | passing   | -       | -        | -       | -          | -               | -          | -                  | passing
pass.ended                  | -        | -          | -         | -       | -        | -       | idle       | idle            | -          | -                  | -
pass.ended with more        | -        | -          | -         | -       | -        | -       | passing    | idle            | -          | -                  | -
pass.failed                 | -        | -          | -         | -       | -        | -       | backingOff | backingOff      | -          | -                  | -
retry.due                   | -        | -          | -         | -       | -        | -       | -          | -               | passing    | idle               | -
deadline.reached            | -        | -          | -         | -       | -        | -       | -          | -               | -          | -                  | -
deadline.reached late       | -        | -          | -         | -       | -        | -       | -          | -               | -          | -                  | -
sweep.ended                 | -        | -          | -         | -       | -        | -       | -          | -               | -          | -                  | -
stall.noticed               | -        | -          | -         | -       | -        | -       | -          | -               | -          | -                  | -
`,
  'assigning',
);

checkTable<unknown, SupervisorEvent>(
  'supervisor (watching)',
  supervisorMachine,
  { waiting: supervisors.accepting, sweeping: passing.sweeping, stopped: supervisors.stopped },
  supervisorRows,
  `
event                       | waiting  | sweeping | stopped
supervisor.open             | -        | -        | -
supervisor.recovered        | -        | -        | -
supervisor.recovered paused | -        | -        | -
supervisor.pause            | -        | -        | -
supervisor.resume           | -        | -        | -
supervisor.drain            | -        | -        | -
supervisor.stop             | stopped  | stopped  | -
work.arrived                | -        | -        | -
slot.freed                  | -        | -        | -
pass.ended                  | -        | -        | -
pass.ended with more        | -        | -        | -
pass.failed                 | -        | -        | -
retry.due                   | -        | -        | -
deadline.reached            | sweeping | -        | -
deadline.reached late       | sweeping | -        | -
sweep.ended                 | -        | waiting  | -
stall.noticed               | waiting  | -        | -
`,
  'watching',
);

/** Names of the actions that an event has the supervisor do. */
function ordersOf(snapshot: SupervisorSnapshot, event: SupervisorEvent): string[] {
  const [, actions] = transition(supervisorMachine, snapshot, event);
  return actions.map(({ type }) => type).filter((type) => type.startsWith('start') || type === 'giveGrace');
}

test('the supervisor starts a pass, a pause or a sweep as it comes into the state for it, and gives grace after a stall', (t) => {
  const { accepting, recovering, paused } = supervisors;
  t.deepEqual(ordersOf(recovering, supervisor.recovered), ['startPass']);
  t.deepEqual(ordersOf(recovering, supervisor.recoveredPaused), []);
  t.deepEqual(ordersOf(paused, supervisor.resume), ['startPass']);
  t.deepEqual(ordersOf(accepting, supervisor.work), ['startPass']);
  t.deepEqual(ordersOf(accepting, supervisor.slot), ['startPass']);
  t.deepEqual(ordersOf(passing.passing, supervisor.work), []);
  t.deepEqual(ordersOf(passing.passing, supervisor.passEnded), []);
  t.deepEqual(ordersOf(passing.passing, supervisor.passEndedWithMore), ['startPass']);
  t.deepEqual(ordersOf(passing['passing, paused'], supervisor.passEndedWithMore), []);
  t.deepEqual(ordersOf(passing.passing, supervisor.passFailed), ['startPause']);
  t.deepEqual(ordersOf(passing.backingOff, supervisor.retryDue), ['startPass']);
  t.deepEqual(ordersOf(accepting, supervisor.deadline), ['startSweep']);
  t.deepEqual(ordersOf(accepting, supervisor.lateDeadline), ['giveGrace', 'startSweep']);
  t.deepEqual(ordersOf(accepting, supervisor.stall), ['giveGrace']);
});
