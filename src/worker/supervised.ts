import type { LoadedConfig } from '../config/load.ts';
import { messageOf } from '../domain/errors.ts';
import { isFields } from '../lib/fields.ts';
import type { ConfiguredWorker } from './configured.ts';
import { type SupervisedJob, supervisedJobsMax, type WorkerMessage } from './supervision.ts';

/** Changes within this time are one report. */
const gatherMs = 50;

/**
 * Take orders from the program that started this process, and report to it. When that program is gone, the worker drains:
 * nobody would restart or stop it any more.
 * @param load reads the configuration of this machine again. @param graceSeconds of that drain.
 */
export function obeyParent(
  configured: ConfiguredWorker,
  load: () => Promise<LoadedConfig>,
  graceSeconds: number,
): void {
  const { worker } = configured;
  process.on('message', (order) => {
    if (!isFields(order)) return;
    if (order.type === 'hold') worker.hold(order.held === true);
    if (order.type === 'drain') void worker.drain(Number(order.graceSeconds) * 1000);
    if (order.type === 'reload') {
      load()
        .then((local) => configured.reload(local))
        .catch((error: unknown) =>
          worker.notice('error', `the changed settings cannot be used: ${messageOf(error)}`),
        );
    }
  });
  process.on('disconnect', () => void worker.drain(graceSeconds * 1000));
  reportTo((message) => {
    // A parent that has just ended takes no more.
    if (process.connected) process.send?.(message, undefined, {}, () => {});
  }, configured);
}

function reportTo(send: (message: WorkerMessage) => void, { worker, concurrency }: ConfiguredWorker): void {
  const jobs = new Map<string, SupervisedJob>();
  const state = { isConnected: false, isPaused: false, isDraining: false, slots: concurrency };
  let isDue = false;
  const report = (): void => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      const shown = [...jobs.values()].slice(0, supervisedJobsMax);
      const { running, models } = worker;
      send({ type: 'state', state: { ...state, running, jobs: shown, models } });
    }, gatherMs);
  };
  worker.on('connected', ({ paused, concurrency: slots }) => {
    Object.assign(state, { isConnected: true, isPaused: paused, slots });
    report();
  });
  worker.on('disconnected', () => {
    state.isConnected = false;
    report();
  });
  worker.on('settings', ({ paused, concurrency: slots }) => {
    Object.assign(state, { isPaused: paused, slots });
    report();
  });
  worker.on('draining', () => {
    state.isDraining = true;
    report();
  });
  worker.on('assigned', ({ jobId, lease, provider, model }) => {
    jobs.set(`${lease}:${jobId}`, { jobId, provider, model, startedAt: Date.now() });
    report();
  });
  worker.on('finished', (end) => {
    jobs.delete(`${end.lease}:${end.jobId}`);
    const { jobId, provider, model, ending, errorClass, inputTokens, outputTokens } = end;
    send({
      type: 'finished',
      end: { jobId, provider, model, ending, errorClass, inputTokens, outputTokens },
    });
    report();
  });
  worker.on('notice', ({ level, message }) => send({ type: 'notice', level, message }));
  report();
}
