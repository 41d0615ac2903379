import { useSignal } from '@preact/signals';
import type { CompanionState, Problem } from '../state.ts';
import { act, link, state } from './api.ts';
import { Connect } from './connect.tsx';
import { isNotifying, setNotifying } from './notify.ts';
import { Servers } from './servers.tsx';
import { Activity, WorkerCard } from './worker.tsx';

/** The whole window. */
export function App() {
  const now = state.value;
  if (link.value === 'out') {
    return (
      <main>
        <h1>SVC companion</h1>
        <p role="alert">
          This window is signed out, because the companion was restarted. Open it again with{' '}
          <code>svc companion open</code>.
        </p>
      </main>
    );
  }
  if (now === null) return <main aria-busy="true">Connecting…</main>;
  return (
    <main>
      <header>
        <h1>SVC companion</h1>
        {now.settings.key !== null && (
          <a href="./dashboard" target="_blank" rel="noopener">
            Open the dashboard
          </a>
        )}
      </header>
      {link.value === 'lost' && <p role="alert">The companion does not answer. It may have been stopped.</p>}
      <Problems now={now} />
      <Connect now={now} />
      <Servers now={now} />
      <WorkerCard now={now} />
      <Activity now={now} />
      <Options now={now} />
      <Log now={now} />
    </main>
  );
}

function Problems({ now }: { now: CompanionState }) {
  const { settings, worker, coordinator } = now;
  const problems: Problem[] = [];
  if (settings.problem !== null) {
    const advice = 'Correct the file. Until then the last valid settings stay in use.';
    problems.push({ message: settings.problem, advice });
  }
  if (worker.problem !== null) problems.push(worker.problem);
  else if (coordinator.isReachable === false) {
    const advice = 'Check the address and the network; the worker connects by itself once it is back.';
    problems.push({ message: 'The coordinator does not answer.', advice });
  }
  return (
    <div role="alert">
      {problems.map(({ message, advice }) => (
        <p class="problem" key={message}>
          <strong>{message}</strong>
          {advice !== null && <span> {advice}</span>}
        </p>
      ))}
    </div>
  );
}

function Options({ now }: { now: CompanionState }) {
  const problem = useSignal<string | null>(null);
  const attempt = (work: Promise<unknown>): void => {
    problem.value = null;
    work.catch((error: Error) => {
      problem.value = error.message;
    });
  };
  const { file, isInstalled } = now.login;
  return (
    <section aria-labelledby="options">
      <h2 id="options">This machine</h2>
      <label>
        <input
          type="checkbox"
          checked={isInstalled}
          disabled={file === null}
          onChange={({ currentTarget }) => attempt(act('login', { isInstalled: currentTarget.checked }))}
        />{' '}
        Start at login
      </label>
      <label>
        <input
          type="checkbox"
          checked={isNotifying.value}
          onChange={async ({ currentTarget }) => {
            const { checked } = currentTarget;
            const isOn = await setNotifying(checked);
            currentTarget.checked = isOn;
            if (checked && !isOn) problem.value = 'The browser does not allow notifications for this page.';
          }}
        />{' '}
        Notify me of failed jobs and problems
      </label>
      {problem.value !== null && <p role="alert">{problem.value}</p>}
      <p class="faint">
        Settings: <code>{now.settings.file}</code> · version {now.version}
      </p>
    </section>
  );
}

function Log({ now }: { now: CompanionState }) {
  return (
    <details>
      <summary>Log</summary>
      <ol class="log">
        {now.log.toReversed().map(({ id, at, level, text }) => (
          <li key={id} class={level}>
            <time dateTime={at}>{new Date(at).toLocaleTimeString()}</time> {text}
          </li>
        ))}
      </ol>
    </details>
  );
}
