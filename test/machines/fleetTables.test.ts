import test from 'ava';
import type { LeaseEvent, ProviderEvent, WorkerEvent } from '../../machines/events.ts';
import { healthMachine } from '../../machines/healthMachine.ts';
import { leaseMachine, leaseTransitions } from '../../machines/leaseMachine.ts';
import type { ProviderLife } from '../../machines/providerLife.ts';
import { providerMachine } from '../../machines/providerMachine.ts';
import { transitionTable } from '../../machines/transitionTable.ts';
import { workerMachine } from '../../machines/workerMachine.ts';
import type { WorkerLife } from '../../src/domain/worker.ts';
import {
  lease,
  leaseAfter,
  leasesInEveryState,
  newProvider,
  newWorker,
  provider,
  providerAfter,
  providersInEveryState,
  worker,
  workerAfter,
  workersInEveryState,
} from './fleet.ts';
import { checkTable, checkWholeTable, type EveryEventHasARow, type Rows } from './stateTable.ts';

type LeasePhase = keyof typeof leaseTransitions;

const workerRows: Record<WorkerEvent['type'], () => WorkerEvent> = {
  'worker.connected': () => worker.connected(),
  'worker.disconnected': () => worker.disconnected,
  'worker.heard': () => worker.heard,
  'worker.late': () => worker.late,
  'worker.paused': () => worker.paused,
  'worker.resumed': () => worker.resumed,
  'worker.draining': () => worker.draining,
  'worker.resized': () => worker.resized,
  'worker.limited': () => worker.limited,
  'worker.modelsChanged': () => worker.modelsChanged,
};

checkWholeTable<WorkerLife, WorkerEvent>(
  'worker',
  workerMachine,
  workersInEveryState(),
  workerRows,
  `
event                | disconnected      | active.responsive | active.late       | paused.responsive | paused.late       | draining
worker.connected     | active.responsive | active.responsive | active.responsive | paused.responsive | paused.responsive | active.responsive
worker.disconnected  | -                 | disconnected      | disconnected      | disconnected      | disconnected      | disconnected
worker.heard         | -                 | active.responsive | active.responsive | paused.responsive | paused.responsive | draining
worker.late          | -                 | active.late       | -                 | paused.late       | -                 | -
worker.paused        | disconnected      | paused.responsive | paused.late       | -                 | -                 | draining
worker.resumed       | disconnected      | -                 | -                 | active.responsive | active.late       | draining
worker.draining      | -                 | draining          | draining          | draining          | draining          | -
worker.resized       | disconnected      | active.responsive | active.late       | paused.responsive | paused.late       | draining
worker.limited       | disconnected      | active.responsive | active.late       | paused.responsive | paused.late       | draining
worker.modelsChanged | -                 | active.responsive | active.late       | paused.responsive | paused.late       | draining
`,
  true,
);

const remembered = {
  'paused, gone': workerAfter(newWorker(), worker.connected(), worker.paused, worker.disconnected),
  'gone, paused': workerAfter(newWorker(), worker.connected(), worker.disconnected, worker.paused),
  'paused, draining': workerAfter(newWorker(), worker.connected(), worker.paused, worker.draining),
  'draining, paused': workerAfter(newWorker(), worker.connected(), worker.draining, worker.paused),
  'paused, restarted': newWorker({ paused: true }),
  'paused, resumed, gone': workerAfter(
    newWorker(),
    worker.connected(),
    worker.paused,
    worker.resumed,
    worker.disconnected,
  ),
};

checkTable<WorkerLife, WorkerEvent>(
  'worker with a past',
  workerMachine,
  remembered,
  { 'worker.connected': () => worker.connected() },
  `
event            | paused, gone      | gone, paused      | paused, draining  | draining, paused  | paused, restarted | paused, resumed, gone
worker.connected | paused.responsive | paused.responsive | paused.responsive | paused.responsive | paused.responsive | active.responsive
`,
);

const providerRows = {
  'provider.limited': () => provider.limited(2_000),
  'provider.limited for a shorter time': () => provider.limited(999),
  'provider.failed too often': () => provider.failed(),
  'provider.failed at a good ratio': () => provider.failed({ ratio: 1.1 }),
  'provider.failed in few attempts': () => provider.failed({ minimum: 99 }),
  'provider.failed too often at one worker': () => provider.failed({}, ['w2']),
  'provider.succeeded': () => provider.succeeded,
  'provider.streamed': () => provider.streamed(),
  'provider.streamed of before the probe': () => provider.streamed(39),
  'provider.due': () => provider.due,
  'provider.workerCame': () => provider.workerCame,
  'provider.probeSent': () => provider.probeSent,
  'provider.probeReturned': () => provider.probeReturned(),
  'provider.probeReturned of before the probe': () => provider.probeReturned(39),
  'provider.reset': () => provider.reset,
} satisfies Rows<ProviderEvent, ProviderLife>;
const isWhole: EveryEventHasARow<ProviderEvent, keyof typeof providerRows> = true;

checkWholeTable<ProviderLife, ProviderEvent>(
  'provider',
  providerMachine,
  providersInEveryState(),
  providerRows,
  `
event                                      | available | limited   | open      | probing
provider.limited                           | limited   | limited   | -         | limited
provider.limited for a shorter time        | limited   | limited   | -         | limited
provider.failed too often                  | open      | limited   | open      | open
provider.failed at a good ratio            | available | limited   | open      | probing
provider.failed in few attempts            | available | limited   | open      | probing
provider.failed too often at one worker    | available | limited   | open      | probing
provider.succeeded                         | available | limited   | open      | available
provider.streamed                          | -         | -         | -         | available
provider.streamed of before the probe      | -         | -         | -         | -
provider.due                               | -         | probing   | probing   | -
provider.workerCame                        | -         | -         | probing   | -
provider.probeSent                         | -         | -         | -         | probing
provider.probeReturned                     | -         | -         | -         | probing
provider.probeReturned of before the probe | -         | -         | -         | -
provider.reset                             | available | available | available | available
`,
  isWhole,
);

const limitProbed = providerAfter(newProvider(), provider.limited(), provider.due);
const openRestored = providerMachine.resolveState({
  value: 'open',
  context: { ...providerAfter(newProvider(), provider.failed()).context, returnsUntil: 46 },
});
const providers = {
  'probed after open': providerAfter(newProvider(), provider.failed(), provider.due),
  'probe sent': providerAfter(limitProbed, provider.probeSent),
  'coming back': providerAfter(limitProbed, provider.succeeded),
  'restored open': openRestored,
};

checkTable<ProviderLife, ProviderEvent>(
  'provider with a past',
  providerMachine,
  providers,
  {
    ...providerRows,
    'provider.workerCame later': () => ({ ...provider.workerCame, monotonic: 46 }),
  },
  `
event                                      | probed after open | probe sent | coming back | restored open
provider.limited                           | limited           | limited    | limited     | -
provider.limited for a shorter time        | limited           | limited    | limited     | -
provider.failed too often                  | open              | open       | open        | open
provider.failed at a good ratio            | open              | probing    | available   | open
provider.failed in few attempts            | open              | probing    | available   | open
provider.failed too often at one worker    | probing           | probing    | available   | open
provider.succeeded                         | available         | available  | available   | open
provider.streamed                          | available         | available  | available   | -
provider.streamed of before the probe      | -                 | -          | available   | -
provider.due                               | -                 | -          | -           | probing
provider.workerCame                        | -                 | -          | -           | -
provider.workerCame later                  | -                 | -          | -           | probing
provider.probeSent                         | probing           | probing    | -           | -
provider.probeReturned                     | probing           | probing    | -           | -
provider.probeReturned of before the probe | -                 | -          | -           | -
provider.reset                             | available         | available  | available   | available
`,
);

const leaseRows: Record<LeaseEvent['type'], () => LeaseEvent> = {
  'lease.assigned': () => lease.assigned,
  'lease.abandoned': () => lease.abandoned,
  'lease.concluded': () => lease.concluded,
  'lease.aborted': () => lease.aborted,
  'lease.workerLost': () => lease.workerLost,
  'lease.expired': () => lease.expired,
};

checkWholeTable<unknown, LeaseEvent>(
  'lease',
  leaseMachine,
  leasesInEveryState(),
  leaseRows,
  `
event            | assigning | running | ending | ended
lease.assigned   | running   | -       | -      | -
lease.abandoned  | ended     | -       | -      | -
lease.concluded  | -         | ended   | ended  | -
lease.aborted    | -         | ending  | -      | -
lease.workerLost | -         | -       | ended  | -
lease.expired    | -         | -       | ended  | -
`,
  true,
);

test('the table of transitions that leases follow is that of their machine', (t) => {
  for (const [phase, snapshot] of Object.entries(leasesInEveryState())) {
    for (const event of Object.values(lease)) {
      const to = leaseTransitions[phase as LeasePhase][event.type];
      t.is(to, snapshot.can(event) ? leaseAfter(snapshot, event).value : undefined, `${phase} ${event.type}`);
    }
  }
});

test('a machine that needs more than a table is not made one', (t) => {
  t.throws(() => transitionTable(workerMachine), { message: /^worker: / });
  t.throws(() => transitionTable(healthMachine), { message: /^health: well needs more than a table/ });
  t.throws(() => transitionTable(providerMachine), { message: /^provider: / });
});
