import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { CompanionState, RunMode, WorkerPhase } from '../state.ts';
import { act } from './api.ts';

const phaseTexts: Readonly<Record<WorkerPhase, string>> = {
  setup: 'Needs a key and a model server',
  off: 'Off',
  starting: 'Connecting',
  working: 'Connected',
  waiting: 'Ended; restarts by itself',
  ending: 'Waits until the former worker has ended',
};

const modeTexts: Readonly<Record<RunMode, string>> = { on: 'On', paused: 'Paused', off: 'Off' };

/** Whether the worker runs, how much it takes, and what it runs now. */
export function WorkerCard({ now }: { now: CompanionState }) {
  const { worker, settings } = now;
  const problem = useSignal<string | null>(null);
  const slots = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // Not as `value`: each change of the worker's state would take back a number that is being typed.
    if (slots.current !== null) slots.current.value = String(settings.concurrency);
  }, [settings.concurrency]);
  const attempt = (work: Promise<unknown>): void => {
    problem.value = null;
    work.catch((error: Error) => {
      problem.value = error.message;
    });
  };
  const paused = worker.isPausedThere ? '; paused by an operator' : '';
  return (
    <section aria-labelledby="worker">
      <h2 id="worker">Worker</h2>
      <p id="phase">
        {phaseTexts[worker.phase]}
        {worker.phase === 'working' && worker.mode === 'paused' ? '; takes no new work' : ''}
        {paused}
        {worker.finishing > 0 ? `; ${worker.finishing} jobs finish with the former settings` : ''}
      </p>
      <fieldset>
        <legend class="hidden">Mode</legend>
        {(['on', 'paused', 'off'] as const).map((mode) => (
          <label key={mode}>
            <input
              type="radio"
              name="mode"
              checked={worker.mode === mode}
              onChange={() => attempt(act('worker', { mode }))}
            />{' '}
            {modeTexts[mode]}
          </label>
        ))}
      </fieldset>
      <label>
        Jobs at once
        <input
          ref={slots}
          type="number"
          min={0}
          max={1000}
          defaultValue={String(settings.concurrency)}
          onChange={({ currentTarget }) =>
            attempt(act('settings', { concurrency: currentTarget.valueAsNumber }))
          }
        />
      </label>
      {problem.value !== null && <p role="alert">{problem.value}</p>}
      <p>
        {worker.running} of {worker.slots} slots in use
      </p>
      <ul>
        {worker.jobs.map(({ jobId, provider, model, startedAt }) => (
          <li key={jobId}>
            <code>{jobId.slice(-8)}</code> {provider}
            {model === null ? '' : `/${model}`} since {new Date(startedAt).toLocaleTimeString()}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What was done today, and what failed. */
export function Activity({ now }: { now: CompanionState }) {
  const { today, coordinator, failures } = now;
  return (
    <section aria-labelledby="activity">
      <h2 id="activity">Today</h2>
      <p id="today">
        {today.completed} completed, {today.failed} failed, {today.inputTokens.toLocaleString()} tokens in,{' '}
        {today.outputTokens.toLocaleString()} tokens out
        {coordinator.costUsd === null ? '' : `, $${coordinator.costUsd.toFixed(4)}`}
      </p>
      <ul>
        {failures.map(({ id, at, jobId, errorClass, advice }) => (
          <li key={id}>
            <time dateTime={at}>{new Date(at).toLocaleTimeString()}</time> <code>{jobId.slice(-8)}</code>{' '}
            <strong>{errorClass}</strong> {advice}
          </li>
        ))}
      </ul>
    </section>
  );
}
