import type { AnyStateMachine } from 'xstate';
import type { MachineName } from '../src/domain/machine.ts';
import { batchMachine } from './batchMachine.ts';
import { healthMachine } from './healthMachine.ts';
import { jobMachine } from './jobMachine.ts';
import { leaseMachine } from './leaseMachine.ts';
import { providerMachine } from './providerMachine.ts';
import { runMachine } from './runMachine.ts';
import { supervisorMachine } from './supervisorMachine.ts';
import { workerMachine } from './workerMachine.ts';

/** Every machine, in the order of pages and pictures: a new one is added here and to `machineNames`. */
export const machines: Readonly<Record<MachineName, AnyStateMachine>> = {
  job: jobMachine,
  lease: leaseMachine,
  worker: workerMachine,
  health: healthMachine,
  provider: providerMachine,
  run: runMachine,
  batch: batchMachine,
  supervisor: supervisorMachine,
};
