import type { ProviderEvent, WorkerEvent } from '../../machines/events.ts';
import { type ProviderLife, providerMachine } from '../../machines/providerMachine.ts';
import { workerMachine } from '../../machines/workerMachine.ts';
import type { WorkerLife } from '../../src/domain/worker.ts';
import {
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

const told = {
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
  'worker that was told',
  workerMachine,
  told,
  { 'worker.connected': () => worker.connected() },
  `
event            | paused, gone      | gone, paused      | paused, draining  | draining, paused  | paused, restarted | paused, resumed, gone
worker.connected | paused.responsive | paused.responsive | paused.responsive | paused.responsive | paused.responsive | active.responsive
`,
);

const providerRows = {
  'provider.limited': () => provider.limited(2_000),
  'provider.limited for a shorter time': () => provider.limited(999),
  'provider.failed too often': () => provider.failed(0.5, 10),
  'provider.failed at a good ratio': () => provider.failed(0.49, 1_000),
  'provider.failed in few attempts': () => provider.failed(1, 9),
  'provider.failed too often at one worker': () => provider.failed(0.9, 20, 20, 1),
  'provider.succeeded': () => provider.succeeded,
  'provider.due': () => provider.due,
  'provider.probeSent': () => provider.probeSent,
  'provider.probeReturned': () => provider.probeReturned,
  'provider.reset': () => provider.reset,
} satisfies Rows<ProviderEvent, ProviderLife>;
const isWhole: EveryEventHasARow<ProviderEvent, keyof typeof providerRows> = true;

checkWholeTable<ProviderLife, ProviderEvent>(
  'provider',
  providerMachine,
  providersInEveryState(),
  providerRows,
  `
event                                 | available | limited   | open      | probing
provider.limited                      | limited   | limited   | -         | limited
provider.limited for a shorter time   | limited   | -         | -         | limited
provider.failed too often             | open      | -         | -         | open
provider.failed at a good ratio       | -         | -         | -         | probing
provider.failed in few attempts       | -         | -         | -         | probing
provider.failed too often at one worker | -       | -         | -         | probing
provider.succeeded                    | available | -         | -         | available
provider.due                          | -         | probing   | probing   | -
provider.probeSent                    | -         | -         | -         | probing
provider.probeReturned                | -         | -         | -         | probing
provider.reset                        | available | available | available | available
`,
  isWhole,
);

const probes = {
  'after open': providerAfter(newProvider(), provider.failed(), provider.due),
  'under way': providerAfter(newProvider(), provider.limited(), provider.due, provider.probeSent),
};

checkTable<ProviderLife, ProviderEvent>(
  'probe',
  providerMachine,
  probes,
  providerRows,
  `
event                                 | after open | under way
provider.limited                      | limited    | limited
provider.limited for a shorter time   | limited    | limited
provider.failed too often             | open       | open
provider.failed at a good ratio       | open       | probing
provider.failed in few attempts       | open       | probing
provider.failed too often at one worker | probing  | probing
provider.succeeded                    | available  | available
provider.due                          | -          | -
provider.probeSent                    | probing    | probing
provider.probeReturned                | probing    | probing
provider.reset                        | available  | available
`,
);
