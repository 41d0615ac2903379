import type { JSX } from 'preact';
import type { WireHistoryEntry } from '../../domain/wire/job.ts';
import { humanDuration } from '../../lib/humanTime.ts';
import { IconButton } from '../components/button.tsx';
import { Time } from '../components/time.tsx';

interface Props {
  entries: readonly WireHistoryEntry[];
  /** Index of the shown entry, from 0. */
  shown: number;
  /** Whether it shows the last one and follows new ones. */
  isLive: boolean;
  /** @param index null: follow the last one. */
  onMove(index: number | null): void;
}

/** Moves through a history: a slider, and the list of entries. */
export function Scrubber({ entries, shown, isLive, onMove }: Props): JSX.Element {
  const last = entries.length - 1;
  const move = (index: number): void => onMove(index >= last ? null : Math.max(0, index));
  const entry = entries[shown];
  return (
    <div class="scrubber">
      <div class="scrubber-bar">
        <IconButton icon="left" label="One step back" onClick={() => move(shown - 1)} />
        <input
          type="range"
          aria-label="Moment of the history"
          aria-valuetext={entry === undefined ? '' : `${shown + 1} of ${entries.length}: ${spoken(entry)}`}
          min={0}
          max={Math.max(0, last)}
          value={shown}
          onInput={({ currentTarget }) => move(currentTarget.valueAsNumber)}
        />
        <IconButton icon="right" label="One step on" onClick={() => move(shown + 1)} />
        <span class="scrubber-place number">
          {shown + 1} of {entries.length}
          {isLive ? ' · newest' : ''}
        </span>
      </div>
      <ol class="scrubber-list">
        {entries.map((one, index) => (
          <li key={`${index} ${one.at}`}>
            <button
              type="button"
              class="scrubber-entry"
              aria-current={index === shown ? 'step' : undefined}
              onClick={() => move(index)}
            >
              <span class="scrubber-state">{one.to}</span>
              <span class="scrubber-event">
                {one.event ?? 'dispatched'}
                {one.attempt === null ? '' : ` · attempt ${one.attempt}`}
              </span>
              <span class="scrubber-stay number">{stayOf(one, entries[index + 1])}</span>
              <span class="scrubber-time">
                <Time at={one.at} />
              </span>
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}

function spoken({ event, to }: WireHistoryEntry): string {
  return `${to}, ${event ?? 'dispatched'}`;
}

/** How long the job stayed in the state of the entry; nothing for the current one. */
function stayOf(entry: WireHistoryEntry, next: WireHistoryEntry | undefined): string {
  return next === undefined ? '' : humanDuration(Date.parse(next.at) - Date.parse(entry.at));
}
