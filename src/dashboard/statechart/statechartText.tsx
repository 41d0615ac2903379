import type { JSX } from 'preact';
import { anyState, type Chart, type ChartState } from './chart.ts';
import type { StateNote } from './stateNote.ts';

interface Props {
  chart: Chart;
  label: string;
  current: readonly string[];
  notes: ReadonlyMap<string, StateNote> | undefined;
}

/** The picture as text: its nested states, and all transitions. */
export function StatechartText(props: Props): JSX.Element {
  const { chart, label } = props;
  return (
    <details class="statechart-text">
      <summary>The same as text</summary>
      <States {...props} parent="" />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: where it is wider than the screen it is moved by keys too */}
      <section class="table-place" aria-label="Transitions" tabIndex={0}>
        <table class="table">
          <caption class="visually-hidden">Transitions: {label}</caption>
          <thead>
            <tr>
              <th scope="col">From</th>
              <th scope="col">Event</th>
              <th scope="col">If</th>
              <th scope="col">To</th>
              <th scope="col">Why</th>
            </tr>
          </thead>
          <tbody>
            {rowsOf(chart).map(({ from, event, guard, to, description }) => (
              <tr key={`${from} ${event} ${guard} ${to}`}>
                <td>{from}</td>
                <td>{event}</td>
                <td>{guard}</td>
                <td>{to}</td>
                <td>{description}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}

function States(props: Props & { parent: string }): JSX.Element | null {
  const { chart, current, notes, parent } = props;
  const states = chart.states.filter(({ path }) => path !== anyState && parentOf(path) === parent);
  if (states.length === 0) return null;
  return (
    <ul>
      {states.map((state: ChartState) => (
        <li key={state.path} aria-current={current.includes(state.path) ? 'step' : undefined}>
          <strong>{state.name}</strong>
          {current.includes(state.path) ? ' (now)' : ''}: {state.description}
          {notes?.has(state.path) === true ? ` ${notes.get(state.path)?.spoken}.` : ''}
          <States {...props} parent={state.path} />
        </li>
      ))}
    </ul>
  );
}

function parentOf(path: string): string {
  return path.split('.').slice(0, -1).join('.');
}

interface Row {
  from: string;
  event: string;
  guard: string;
  to: string;
  description: string;
}

function rowsOf({ edges, internal }: Chart): Row[] {
  const drawn = edges.flatMap(({ from, to, transitions }) =>
    transitions.map((one) => ({ from: from ?? '', to, ...one })),
  );
  const staying = internal.map(({ state, ...one }) => ({ from: state, to: 'stays', ...one }));
  return [...drawn, ...staying].map(({ from, to, event, guard, description }) => ({
    from: from === anyState ? 'any state' : from,
    event: event ?? 'at once',
    guard: guard ?? '',
    to,
    description: description ?? '',
  }));
}
