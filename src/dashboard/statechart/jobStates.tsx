import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { WireHistoryEntry } from '../../domain/wire/job.ts';
import { humanDuration } from '../../lib/humanTime.ts';
import { useLoaded } from '../components/resource.ts';
import { Failure, Loading } from '../components/states.tsx';
import { plural } from '../components/text.ts';
import { now } from '../live/clock.ts';
import { place, setQuery } from '../router.ts';
import { api } from '../session.ts';
import { jobChart } from './charts/job.ts';
import { Scrubber } from './scrubber.tsx';
import { Statechart } from './statechart.tsx';
import type { StateNote } from './stateNote.ts';
import { takenBy, visitsOf } from './visits.ts';

/** Its parameter in the query: `?e=3` shows the job after the third change of its state. */
export const momentName = 'e';

/**
 * The machine of a job with its current state, its previous ones, and a way back through its history.
 * @param changedAt changes with the state of the job: its history is then reloaded.
 */
export function JobStates({ id, changedAt }: { id: string; changedAt: string }): JSX.Element {
  const { loaded, reload } = useLoaded(id, () => api.value.jobHistory(id));
  useEffect(() => {
    if (loaded.peek().data !== null) reload();
  }, [changedAt, loaded, reload]);
  const { data, error } = loaded.value;
  if (data === null) return error === null ? <Loading lines={8} /> : <Failure error={error} retry={reload} />;
  const { entries, truncated } = data;
  const asked = Number(place.value.query.get(momentName) ?? entries.length);
  const shown = Math.min(Math.max(1, Number.isInteger(asked) ? asked : entries.length), entries.length) - 1;
  const entry = entries[shown];
  const isLive = shown === entries.length - 1;
  if (entry === undefined) return <Loading lines={8} />;
  return (
    <div class="job-states">
      <Statechart
        chart={jobChart}
        label={isLive ? 'States of this job' : `States of this job, ${shown + 1} of ${entries.length}`}
        current={[entry.to]}
        notes={notesOf(entries, shown)}
        taken={takenBy(jobChart, entry)}
        takenKey={shown}
      />
      <div class="job-states-history">
        {truncated ? <p class="hint">The oldest changes of this job are forgotten.</p> : null}
        <Scrubber
          entries={entries}
          shown={shown}
          isLive={isLive}
          onMove={(index) =>
            setQuery({ [momentName]: index === null ? null : String(index + 1) }, { replace: true })
          }
        />
      </div>
    </div>
  );
}

/** An ended job stays in its last state for ever, so that duration means nothing. */
const ends = new Set(['completed', 'failed', 'cancelled']);

function notesOf(entries: readonly WireHistoryEntry[], shown: number): ReadonlyMap<string, StateNote> {
  const next = entries[shown + 1];
  const until = next === undefined ? now.value : Date.parse(next.at);
  const visits = visitsOf(entries, shown + 1, until);
  return new Map(
    [...visits].map(([path, { count, ms }]): [string, StateNote] => {
      const time = ends.has(path) ? '' : humanDuration(ms);
      const times = count === 1 ? '' : `${count}×`;
      return [
        path,
        {
          figures: [times, time].filter((part) => part !== '').join(' · '),
          spoken: [`been here ${plural(count, 'time')}`, time].filter((part) => part !== '').join(', '),
          isUsed: true,
        },
      ];
    }),
  );
}
