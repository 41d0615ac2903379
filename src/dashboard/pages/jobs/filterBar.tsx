import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { nameLengthMax, searchLengthMax } from '../../../domain/limits.ts';
import { EditedInput } from '../../components/editedInput.tsx';
import { Icon } from '../../components/icons.tsx';
import { useProviders } from '../../live/store.ts';
import { setQuery } from '../../router.ts';
import { useShortcut } from '../../shell/shortcuts.ts';
import { type ListFilters, type PlainFilter, plainFilters, spans, states } from './filters.ts';
import { type CountChanges, StatusChips } from './statusChips.tsx';

/** The search starts this long after the last key, ms. */
const typingMs = 250;

/** The search, the states with their counts, and the other filters; all of it is in the address. */
export function FilterBar(props: { filters: ListFilters; now: number; changes: CountChanges }): JSX.Element {
  const { filters, now, changes } = props;
  const search = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const isOpen = useSignal(false);
  useShortcut('/', 'Search', () => search.current?.focus());
  useEffect(() => {
    // Back and links change the address, but not a field that is being edited.
    if (search.current !== null && document.activeElement !== search.current)
      search.current.value = filters.q;
  }, [filters.q]);
  return (
    <div class="filters">
      <div class="filter-line">
        <label class="search">
          <span class="visually-hidden">Search in prompts and ids</span>
          <Icon name="search" />
          <input
            ref={search}
            type="search"
            class="input"
            placeholder="Search in prompts and ids"
            maxLength={searchLengthMax}
            defaultValue={filters.q}
            onInput={(event) => {
              const text = event.currentTarget.value;
              clearTimeout(timer.current);
              timer.current = setTimeout(() => setQuery({ q: text }, { replace: true }), typingMs);
            }}
            onKeyDown={(event) => {
              if (event.key === 'Escape') event.currentTarget.blur();
            }}
          />
        </label>
        <button
          type="button"
          class="button"
          aria-expanded={isOpen.value}
          aria-controls="more-filters"
          onClick={() => {
            isOpen.value = !isOpen.value;
          }}
        >
          Filters
          <Icon name={isOpen.value ? 'close' : 'down'} />
        </button>
      </div>
      <StatusChips filters={filters} now={now} changes={changes} />
      {isOpen.value ? <MoreFilters filters={filters} /> : null}
      <ActiveFilters filters={filters} />
    </div>
  );
}

function MoreFilters({ filters }: { filters: ListFilters }): JSX.Element {
  const providers = useProviders();
  return (
    <div class="more-filters" id="more-filters">
      {(Object.keys(plainFilters) as PlainFilter[]).map((name) => (
        <label key={name} class="field">
          <span>{plainFilters[name]}</span>
          <EditedInput
            type="text"
            maxLength={nameLengthMax}
            value={filters[name]}
            list={name === 'provider' ? 'known-providers' : undefined}
            onChange={(event) => setQuery({ [name]: event.currentTarget.value.trim() })}
          />
        </label>
      ))}
      <datalist id="known-providers">
        {[...(providers.value?.keys() ?? [])].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <label class="field">
        <span>Tag</span>
        <input
          type="text"
          maxLength={nameLengthMax}
          placeholder="Add a tag"
          onChange={(event) => {
            const tag = event.currentTarget.value.trim();
            event.currentTarget.value = '';
            if (tag !== '') setQuery({ tag: [...new Set([...filters.tags, tag])] });
          }}
        />
      </label>
      <label class="field">
        <span>Metadata</span>
        <input
          type="text"
          placeholder="name=value"
          pattern="[^=]+=.*"
          onChange={(event) => {
            const input = event.currentTarget;
            if (!input.reportValidity()) return;
            const pair = input.value.trim();
            input.value = '';
            if (pair !== '') setQuery({ metadata: [...new Set([...filters.metadata, pair])] });
          }}
        />
      </label>
      <Choice name="state" label="More exactly" any="Any state" value={filters.state} options={states} />
      <Choice name="within" label="Created" any="At any time" value={filters.within} options={spanLabels} />
    </div>
  );
}

const spanLabels = Object.fromEntries(Object.entries(spans).map(([name, { label }]) => [name, label]));

function Choice(props: {
  name: string;
  label: string;
  /** Its label without a filter. */
  any: string;
  value: string;
  options: Record<string, string>;
}): JSX.Element {
  const { name, label, any, value, options } = props;
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(event) => setQuery({ [name]: event.currentTarget.value })}>
        <option value="">{any}</option>
        {Object.entries(options).map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The active filters, each with a button to remove it. */
function ActiveFilters({ filters }: { filters: ListFilters }): JSX.Element | null {
  const active: { key: string; text: string; off: () => void }[] = [];
  for (const name of Object.keys(plainFilters) as PlainFilter[]) {
    const text = filters[name];
    if (text !== '')
      active.push({
        key: name,
        text: `${plainFilters[name]}: ${text}`,
        off: () => setQuery({ [name]: null }),
      });
  }
  for (const tag of filters.tags) {
    const rest = filters.tags.filter((one) => one !== tag);
    active.push({ key: `tag ${tag}`, text: `Tag: ${tag}`, off: () => setQuery({ tag: rest }) });
  }
  for (const pair of filters.metadata) {
    const rest = filters.metadata.filter((one) => one !== pair);
    active.push({ key: `metadata ${pair}`, text: pair, off: () => setQuery({ metadata: rest }) });
  }
  const state = states[filters.state];
  if (state !== undefined)
    active.push({ key: 'state', text: `State: ${state}`, off: () => setQuery({ state: null }) });
  const span = spans[filters.within];
  if (span !== undefined)
    active.push({ key: 'within', text: span.label, off: () => setQuery({ within: null }) });
  if (active.length === 0) return null;
  return (
    <ul class="active-filters" aria-label="Filters">
      {active.map(({ key, text, off }) => (
        <li key={key}>
          <button type="button" class="button small" onClick={off}>
            {text}
            <Icon name="close" />
            <span class="visually-hidden">Remove this filter</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
