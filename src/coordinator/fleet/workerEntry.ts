import type { createActor } from 'xstate';
import type { workerMachine } from '../../../machines/workerMachine.ts';
import { CoordinatorError } from '../../domain/errors.ts';
import type { WorkerStatus } from '../../domain/states.ts';
import type { WorkerLife } from '../../domain/worker.ts';
import type { Health } from './health.ts';
import type { WorkerSession } from './workerSession.ts';

/** A worker that the coordinator knows: its actor and, while it is connected, its session. */
export interface WorkerEntry {
  readonly actor: ReturnType<typeof createActor<typeof workerMachine>>;
  session: WorkerSession | null;
  /** The end of the last durable change in flight: they are made one after the other. */
  tail: Promise<unknown>;
  /** A hello is being made durable: the name is taken. */
  joining: boolean;
  /** Resolves when its removal has been made durable, or refused; null while nobody removes it. */
  forgetting: Promise<void> | null;
  readonly health: Health;
}

export function lifeOf({ actor }: WorkerEntry): WorkerLife {
  return actor.getSnapshot().context;
}

/** The word that the API shows for its state. */
export function statusOf({ actor }: WorkerEntry): WorkerStatus {
  const { value } = actor.getSnapshot();
  return (typeof value === 'string' ? value : Object.keys(value)[0]) as WorkerStatus;
}

/** Whether it may be given new work now, free slots apart. */
export function isAssignable({ session, actor }: WorkerEntry): boolean {
  return session !== null && actor.getSnapshot().hasTag('assignable');
}

export function workerNotFound(id: string): CoordinatorError {
  return new CoordinatorError('worker_not_found', `There is no worker ${id}`);
}
