import { signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { searchLengthMax } from '../../domain/limits.ts';
import type { WireJob } from '../../domain/wire/job.ts';
import { Badge } from '../components/badge.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Icon, type IconName } from '../components/icons.tsx';
import { jobTitle } from '../pages/jobs/jobCells.tsx';
import { go, href } from '../router.ts';
import { api } from '../session.ts';
import { visiblePages } from './navigation.tsx';

const isOpen = signal(false);

export function openPalette(): void {
  isOpen.value = true;
}

interface Choice {
  id: string;
  icon: IconName;
  text: string;
  job: WireJob | null;
  to: string;
}

/** Jobs that are offered, and how long the reader must have stopped typing before they are asked for, ms. */
const jobsMax = 6;
const pauseMs = 150;

/** Where one types to go somewhere: a page by its name, a job by its id or by words of its prompt. */
export function Palette(): JSX.Element | null {
  return isOpen.value ? <OpenPalette /> : null;
}

function OpenPalette(): JSX.Element {
  const text = useSignal('');
  const jobs = useSignal<readonly WireJob[]>([]);
  const chosen = useSignal(0);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const query = text.value.trim();
  useEffect(() => {
    jobs.value = [];
    if (query.length < 2) return;
    let isOurs = true;
    const timer = setTimeout(() => {
      api
        .peek()
        .jobs({ q: query, limit: jobsMax })
        .then(
          (list) => {
            if (isOurs) jobs.value = list.jobs;
          },
          // The pages are still there to choose from.
          () => {},
        );
    }, pauseMs);
    return () => {
      isOurs = false;
      clearTimeout(timer);
    };
  }, [query, jobs]);
  const choices = [...pageChoices(query), ...jobs.value.map(jobChoice)];
  const index = Math.min(chosen.value, Math.max(0, choices.length - 1));
  const close = (): void => {
    isOpen.value = false;
  };
  const take = (choice: Choice | undefined): void => {
    if (choice === undefined) return;
    close();
    go(choice.to);
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      chosen.value = (index + step + choices.length) % Math.max(1, choices.length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      take(choices[index]);
    }
  };
  return (
    <Dialog title="Go to" onClose={close}>
      <input
        ref={input}
        class="palette-input"
        role="combobox"
        aria-label="Page, id of a job, or words of its prompt"
        aria-expanded="true"
        aria-controls="palette-choices"
        aria-activedescendant={choices[index] === undefined ? undefined : `choice-${choices[index].id}`}
        placeholder="Page, id of a job, or words of its prompt"
        maxLength={searchLengthMax}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          chosen.value = 0;
        }}
        onKeyDown={onKey}
      />
      <div id="palette-choices" class="palette-choices" role="listbox" aria-label="Places">
        {choices.map((choice, place) => (
          <div
            key={choice.id}
            id={`choice-${choice.id}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === index}
            onClick={() => take(choice)}
            onKeyDown={onKey}
          >
            <Icon name={choice.icon} />
            <span class="palette-text" dir="auto">
              {choice.text}
            </span>
            {choice.job === null ? null : <Badge status={choice.job.status} />}
          </div>
        ))}
        {choices.length === 0 ? <p class="faint">Nothing of that name.</p> : null}
      </div>
    </Dialog>
  );
}

function pageChoices(query: string): Choice[] {
  return visiblePages()
    .filter(({ title }) => title.toLowerCase().includes(query.toLowerCase()))
    .map(({ pattern, title, nav }) => ({
      id: title.replaceAll(/\W/g, '-'),
      icon: nav?.icon ?? 'info',
      text: title,
      job: null,
      to: href(pattern),
    }));
}

function jobChoice(job: WireJob): Choice {
  const { id } = job;
  return { id, icon: 'jobs', text: jobTitle(job), job, to: href(`/jobs/${id}`) };
}
