import { type ReadonlySignal, signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { MachineName } from '../../../domain/machine.ts';
import type { WireInspected, WireInspection } from '../../../domain/wire/machine.ts';
import { Card } from '../../components/page.tsx';
import { Empty, Loading } from '../../components/states.tsx';
import { plural, shortId } from '../../components/text.ts';
import { Time } from '../../components/time.tsx';
import { feed } from '../../live/browserFeed.ts';
import { place, setQuery } from '../../router.ts';
import { keyOf, type Numbered, type Seen, seenOf, withInspected } from './inspection.ts';

/** The shortest interval between two renderings of the list, ms. */
const paceMs = 250;
/** For a busy actor the latest are enough. */
const shownMax = 50;

/** The events of a machine's actors, with the snapshot after each: for maintainers. */
export function Inspect({ machine }: { machine: MachineName }): JSX.Element {
  const seen = useInspection().value;
  const chosen = place.value.query.get('actor');
  return (
    <Card title="Inspect" class="inspect" beside={seen?.isOn === true ? <Hold /> : null}>
      {seen === null ? (
        <Loading />
      ) : seen.isOn ? (
        <Lists seen={seen} machine={machine} chosen={chosen} />
      ) : (
        <Off />
      )}
    </Card>
  );
}

/** Whether the lists are frozen; events meanwhile are shown afterwards. */
const isHeld = signal(false);

function Hold(): JSX.Element {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isHeld.value}
        onChange={({ currentTarget }) => {
          isHeld.value = currentTarget.checked;
        }}
      />
      Hold still
    </label>
  );
}

function Off(): JSX.Element {
  return (
    <Empty title="This coordinator is not inspected.">
      Start it with <code>svc coordinator --inspect</code> to see every event of every actor here, without
      prompts and outputs.
    </Empty>
  );
}

function Lists({
  seen,
  machine,
  chosen,
}: {
  seen: Seen;
  machine: MachineName;
  chosen: string | null;
}): JSX.Element {
  const actors = seen.actors.filter((actor) => actor.machine === machine);
  const events = seen.events.filter(
    (event) => event.machine === machine && (chosen === null || keyOf(event) === chosen),
  );
  return (
    <div class="inspect-lists">
      <div>
        <h3>{plural(actors.length, 'actor')} lately</h3>
        <ul class="inspect-list">
          <li>
            <Choice label="All of them" isChosen={chosen === null} choose={() => setQuery({ actor: null })} />
          </li>
          {actors.slice(0, shownMax).map((actor) => (
            <li key={keyOf(actor)}>
              <Choice
                label={shortId(actor.actor_id)}
                hint={`${actor.state}, ${plural(actor.event_count, 'event')}`}
                isChosen={keyOf(actor) === chosen}
                choose={() => setQuery({ actor: keyOf(actor) })}
              />
            </li>
          ))}
        </ul>
      </div>
      <div>
        <h3>Events, the newest first</h3>
        {events.length === 0 ? <p class="hint">None lately.</p> : null}
        <ol class="inspect-list">
          {events.slice(0, shownMax).map((event) => (
            <li key={event.place}>
              <Event event={event} withActor={chosen === null} />
            </li>
          ))}
        </ol>
      </div>
    </div>
  );
}

function Choice(props: { label: string; hint?: string; isChosen: boolean; choose(): void }): JSX.Element {
  return (
    <button type="button" class="inspect-actor" aria-pressed={props.isChosen} onClick={props.choose}>
      <span class="mono">{props.label}</span>
      {props.hint === undefined ? null : <span class="hint">{props.hint}</span>}
    </button>
  );
}

/** Expanded, it shows the event and the snapshot after it, without user data. */
function Event({ event, withActor }: { event: Numbered; withActor: boolean }): JSX.Element {
  const { from, to } = event;
  const way = event.event.type === 'xstate.init' ? `begins as ${to}` : `${from ?? '?'} → ${to}`;
  return (
    <details class="inspect-event">
      <summary>
        <strong>{event.event.type}</strong>{' '}
        <span class="inspect-way">{from === to ? `stays ${to}` : way}</span>{' '}
        {withActor ? <span class="mono hint">{shortId(event.actor_id)}</span> : null}{' '}
        <span class="hint">
          <Time at={event.at} />
        </span>
      </summary>
      <h4>Event</h4>
      <pre>{JSON.stringify(event.event, null, 2)}</pre>
      <h4>Snapshot</h4>
      <pre>{JSON.stringify({ value: to, context: event.context }, null, 2)}</pre>
    </details>
  );
}

/** null until it is loaded. */
function useInspection(): ReadonlySignal<Seen | null> {
  const shown = useSignal<Seen | null>(null);
  useEffect(() => {
    let seen: Seen | null = null;
    let fresh: WireInspected[] = [];
    let timer: ReturnType<typeof setTimeout> | null = null;
    const show = (): void => {
      timer = null;
      if (seen === null) return;
      seen = withInspected(seen, fresh);
      fresh = [];
      if (!isHeld.peek() || shown.peek() === null) shown.value = seen;
    };
    const end = feed.listen('inspect', {
      // The coordinator's frames have the types of docs/live-events.md.
      snapshot: (data) => {
        seen = seenOf(data as WireInspection);
        fresh = [];
        timer ??= setTimeout(show, 0);
      },
      event: ({ type, data }) => {
        if (type !== 'inspected' || seen === null) return;
        fresh.push(data as WireInspected);
        timer ??= setTimeout(show, paceMs);
      },
    });
    return () => {
      end();
      if (timer !== null) clearTimeout(timer);
    };
  }, [shown]);
  return shown;
}
