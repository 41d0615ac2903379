import { type EventObject, getInitialSnapshot, type SnapshotFrom, transition } from 'xstate';
import type {
  HealthEvent,
  LeaseEvent,
  ProviderEvent,
  SupervisorEvent,
  WorkerEvent,
} from '../../machines/events.ts';
import { healthMachine } from '../../machines/healthMachine.ts';
import { leaseMachine } from '../../machines/leaseMachine.ts';
import { providerMachine } from '../../machines/providerMachine.ts';
import { supervisorMachine } from '../../machines/supervisorMachine.ts';
import { workerMachine } from '../../machines/workerMachine.ts';
import type { Failure, Fault } from '../../src/domain/failure.ts';
import type { BreakerSettings, RateLimit } from '../../src/domain/provider.ts';
import type { WorkerHello, WorkerLife } from '../../src/domain/worker.ts';
import { pathOf } from './stateTable.ts';

export type WorkerSnapshot = SnapshotFrom<typeof workerMachine>;
export type HealthSnapshot = SnapshotFrom<typeof healthMachine>;
export type LeaseSnapshot = SnapshotFrom<typeof leaseMachine>;
export type ProviderSnapshot = SnapshotFrom<typeof providerMachine>;
export type SupervisorSnapshot = SnapshotFrom<typeof supervisorMachine>;

export const hello: WorkerHello = {
  name: 'box',
  kind: 'local',
  providers: ['ollama'],
  models: { ollama: ['llama'] },
  tags: ['gpu'],
  concurrency: 2,
  version: '1.0.0',
  host: 'box.example',
  instance: 'process-1',
};

export function newWorker(life: Partial<WorkerLife> = {}): WorkerSnapshot {
  return getInitialSnapshot(workerMachine, {
    ...hello,
    id: 'w1',
    declaredConcurrency: hello.concurrency,
    paused: false,
    connectedAt: null,
    lastHeartbeatAt: null,
    ...life,
  });
}

export const worker = {
  connected: (at = 10, fields: Partial<WorkerHello> = {}): WorkerEvent => ({
    type: 'worker.connected',
    at,
    hello: { ...hello, ...fields },
  }),
  disconnected: { type: 'worker.disconnected', at: 20 },
  heard: { type: 'worker.heard', at: 30 },
  late: { type: 'worker.late', at: 40 },
  paused: { type: 'worker.paused', at: 50 },
  resumed: { type: 'worker.resumed', at: 60 },
  draining: { type: 'worker.draining', at: 70 },
  resized: { type: 'worker.resized', at: 80, concurrency: 0 },
  limited: { type: 'worker.limited', at: 85, concurrency: 1 },
  modelsChanged: { type: 'worker.modelsChanged', at: 90, models: { ollama: ['llama', 'qwen'] } },
} as const satisfies Record<string, WorkerEvent | ((...rest: never[]) => WorkerEvent)>;

export function newHealth(fault: Fault = 'unreachable'): HealthSnapshot {
  return getInitialSnapshot(healthMachine, { workerId: 'w1', provider: 'vllm', model: null, fault, at: 1 });
}

export const refused: Failure = {
  class: 'network',
  code: 'network',
  message: 'connect ECONNREFUSED',
  status: null,
};

export const health = {
  failed: (at = 10, began = at, jitter = 0): HealthEvent => ({
    type: 'health.failed',
    at,
    monotonic: at,
    began,
    failure: refused,
    jitter,
  }),
  due: { type: 'health.due', at: 20 },
  trialSent: { type: 'health.trialSent', at: 30, jobId: 'j1', lease: 2 },
  trialReturned: { type: 'health.trialReturned', at: 40, jobId: 'j1', lease: 2 },
  succeeded: { type: 'health.succeeded', at: 50 },
} as const satisfies Record<string, HealthEvent | ((...rest: never[]) => HealthEvent)>;

export function newProvider(): ProviderSnapshot {
  return getInitialSnapshot(providerMachine, { name: 'openai', at: 1 });
}

export const rateLimit: RateLimit = {
  maxConcurrent: null,
  retryAfterSeconds: 30,
  maxRetries: 20,
  retryAfterMaxSeconds: 300,
};
/** One failure of one attempt opens the breaker, for half a second. */
export const breaker: BreakerSettings = { ratio: 0.5, minimum: 1, windowSeconds: 60, openSeconds: 0.5 };
const rules = { rateLimit, breaker };

export const provider = {
  limited: (until = 1_000, at = 10, underWay = 1): ProviderEvent => ({
    type: 'provider.limited',
    at,
    askedMs: until - at,
    jitter: 0,
    underWay,
    rules,
  }),
  failed: (settings: Partial<BreakerSettings> = {}, ableWorkers: string[] = [], at = 20): ProviderEvent => ({
    type: 'provider.failed',
    at,
    monotonic: at,
    workerId: 'w1',
    failure: refused,
    rules: { rateLimit, breaker: { ...breaker, ...settings } },
    ableWorkers,
  }),
  succeeded: { type: 'provider.succeeded', at: 30, monotonic: 30, workerId: 'w1', underWay: 4, rules },
  due: { type: 'provider.due', at: 40, monotonic: 40 },
  workerCame: { type: 'provider.workerCame', at: 45, monotonic: 45 },
  probeSent: { type: 'provider.probeSent', at: 50 },
  streamed: (began = 50): ProviderEvent => ({
    type: 'provider.streamed',
    at: 55,
    began,
    underWay: 4,
    rules,
  }),
  probeReturned: (began = 50): ProviderEvent => ({ type: 'provider.probeReturned', at: 60, began }),
  reset: { type: 'provider.reset', at: 70 },
} as const satisfies Record<string, ProviderEvent | ((...rest: never[]) => ProviderEvent)>;

export function newLease(): LeaseSnapshot {
  return getInitialSnapshot(leaseMachine);
}

/** Events of a lease. */
export const lease = {
  assigned: { type: 'lease.assigned' },
  abandoned: { type: 'lease.abandoned' },
  concluded: { type: 'lease.concluded' },
  aborted: { type: 'lease.aborted' },
  workerLost: { type: 'lease.workerLost' },
  expired: { type: 'lease.expired' },
} as const satisfies Record<string, LeaseEvent>;

export function newSupervisor(): SupervisorSnapshot {
  return getInitialSnapshot(supervisorMachine);
}

function accepted(can: boolean, event: EventObject): void {
  if (!can) throw new Error(`${event.type} is refused`);
}

/** The worker after these events, each of which it must accept. */
export function workerAfter(snapshot: WorkerSnapshot, ...events: WorkerEvent[]): WorkerSnapshot {
  return events.reduce((now, event) => {
    accepted(now.can(event), event);
    return transition(workerMachine, now, event)[0];
  }, snapshot);
}

/** The health after these events, each of which it must accept. */
export function healthAfter(snapshot: HealthSnapshot, ...events: HealthEvent[]): HealthSnapshot {
  return events.reduce((now, event) => {
    accepted(now.can(event), event);
    return transition(healthMachine, now, event)[0];
  }, snapshot);
}

/** The provider after these events, each of which it must accept. */
export function providerAfter(snapshot: ProviderSnapshot, ...events: ProviderEvent[]): ProviderSnapshot {
  return events.reduce((now, event) => {
    accepted(now.can(event), event);
    return transition(providerMachine, now, event)[0];
  }, snapshot);
}

/** The lease after these events, each of which it must accept. */
export function leaseAfter(snapshot: LeaseSnapshot, ...events: LeaseEvent[]): LeaseSnapshot {
  return events.reduce((now, event) => {
    accepted(now.can(event), event);
    return transition(leaseMachine, now, event)[0];
  }, snapshot);
}

/** Events of the supervisor. */
export const supervisor = {
  open: { type: 'supervisor.open' },
  recovered: { type: 'supervisor.recovered', paused: false },
  recoveredPaused: { type: 'supervisor.recovered', paused: true },
  pause: { type: 'supervisor.pause' },
  resume: { type: 'supervisor.resume' },
  drain: { type: 'supervisor.drain' },
  stop: { type: 'supervisor.stop' },
  work: { type: 'work.arrived' },
  slot: { type: 'slot.freed' },
  passEnded: { type: 'pass.ended', hasMore: false },
  passEndedWithMore: { type: 'pass.ended', hasMore: true },
  passFailed: { type: 'pass.failed' },
  retryDue: { type: 'retry.due' },
  deadline: { type: 'deadline.reached', lateMs: 3 },
  lateDeadline: { type: 'deadline.reached', lateMs: 1_001 },
  sweepEnded: { type: 'sweep.ended' },
  stall: { type: 'stall.noticed', lateMs: 2_000 },
} as const satisfies Record<string, SupervisorEvent>;

/** The supervisor after these events, each of which it must accept. */
export function supervisorAfter(...events: SupervisorEvent[]): SupervisorSnapshot {
  return events.reduce((now, event) => {
    accepted(now.can(event), event);
    return transition(supervisorMachine, now, event)[0];
  }, newSupervisor());
}

export function workersInEveryState(): Record<string, WorkerSnapshot> {
  const active = workerAfter(newWorker(), worker.connected());
  const late = workerAfter(active, worker.late);
  return {
    disconnected: workerAfter(active, worker.disconnected),
    'active.responsive': active,
    'active.late': late,
    'paused.responsive': workerAfter(active, worker.paused),
    'paused.late': workerAfter(late, worker.paused),
    draining: workerAfter(active, worker.draining),
  };
}

export function healthInEveryState(): Record<string, HealthSnapshot> {
  const aside = healthAfter(newHealth(), health.failed());
  const due = healthAfter(aside, health.due);
  return { well: newHealth(), aside, due, trying: healthAfter(due, health.trialSent) };
}

export function providersInEveryState(): Record<string, ProviderSnapshot> {
  const limited = providerAfter(newProvider(), provider.limited());
  return {
    available: newProvider(),
    limited,
    open: providerAfter(newProvider(), provider.failed()),
    probing: providerAfter(limited, provider.due),
  };
}

export function leasesInEveryState(): Record<string, LeaseSnapshot> {
  const running = leaseAfter(newLease(), lease.assigned);
  return {
    assigning: newLease(),
    running,
    ending: leaseAfter(running, lease.aborted),
    ended: leaseAfter(running, lease.concluded),
  };
}

/** By the states of its regions, as `pathOf` has them. */
export function supervisorsInEveryState(): Record<string, SupervisorSnapshot> {
  const { open, recovered, pause, drain, stop, work, passEnded, passFailed, deadline } = supervisor;
  const accepting = [open, recovered, passEnded] as const;
  const all = [
    supervisorAfter(),
    supervisorAfter(open),
    supervisorAfter(...accepting),
    supervisorAfter(...accepting, pause),
    supervisorAfter(...accepting, drain),
    supervisorAfter(open, recovered),
    supervisorAfter(open, recovered, pause),
    supervisorAfter(open, recovered, drain),
    supervisorAfter(open, recovered, passFailed),
    supervisorAfter(open, recovered, passFailed, pause),
    supervisorAfter(...accepting, deadline),
    supervisorAfter(...accepting, work),
    supervisorAfter(stop),
  ];
  return Object.fromEntries(all.map((snapshot) => [pathOf(snapshot), snapshot]));
}
