import { signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { searchLengthMax } from '../../domain/limits.ts';
import type { WireJob } from '../../domain/wire/job.ts';
import { Badge } from '../components/badge.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Icon } from '../components/icons.tsx';
import { failed } from '../components/toasts.tsx';
import { setNotifying } from '../live/notifications.ts';
import { useProviders, useQueue, useWorkers } from '../live/store.ts';
import { jobTitle, shownStatus } from '../pages/jobs/jobCells.tsx';
import { isHeldUp } from '../pages/providers/liveProviders.ts';
import { resetProvider } from '../pages/providers/resetProvider.ts';
import { pauseWorker, resumeWorker } from '../pages/workers/pauseWorker.ts';
import { go, href } from '../router.ts';
import { api, may, signOutEverywhere } from '../session.ts';
import { isHelpOpen } from './help.tsx';
import { type Choice, choicesOf, type Known, type PaletteAction } from './paletteChoices.ts';
import { notifies, theme } from './preferences.ts';
import { askToPause, resumeQueue } from './queueSwitch.tsx';
import { visiblePages } from './visiblePages.ts';

const isOpen = signal(false);

export function openPalette(): void {
  isOpen.value = true;
}

/** Suggested jobs, and the pause in typing before they are requested, ms. */
const jobsMax = 6;
const pauseMs = 150;

/** A field to go to a page, a worker, a provider or a job, or to run an action. */
export function Palette(): JSX.Element | null {
  return isOpen.value ? <OpenPalette /> : null;
}

/** The current choices for the role of this session. */
function useKnown(jobs: readonly WireJob[]): Known {
  const workers = useWorkers();
  const providers = useProviders();
  const queue = useQueue();
  return {
    pages: visiblePages().map(({ title, pattern, nav }) => ({ title, pattern, icon: nav?.icon ?? 'info' })),
    workers: [...(workers.value?.values() ?? [])],
    providers: [...(providers.value?.values() ?? [])].map((provider) => ({
      name: provider.name,
      status: provider.status,
      isHeldUp: isHeldUp(provider),
    })),
    jobs: jobs.map((job) => ({ id: job.id, status: shownStatus(job), title: jobTitle(job) })),
    isQueuePaused: queue.value?.paused === true,
    isNotifying: notifies.value,
    may,
  };
}

// Over 60 lines: its markup stays in one piece.
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
          // The pages are still available.
          () => {},
        );
    }, pauseMs);
    return () => {
      isOurs = false;
      clearTimeout(timer);
    };
  }, [query, jobs]);
  const choices = choicesOf(query, useKnown(jobs.value));
  const index = Math.min(chosen.value, Math.max(0, choices.length - 1));
  const close = (): void => {
    isOpen.value = false;
  };
  const take = (choice: Choice | undefined): void => {
    if (choice === undefined) return;
    close();
    carryOut(choice.does).catch(failed);
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
    <Dialog title="Go to or do" onClose={close}>
      <input
        ref={input}
        class="palette-input"
        role="combobox"
        aria-label="Page, worker, provider, action, id of a job, or words of its prompt"
        aria-expanded="true"
        aria-controls="palette-choices"
        aria-activedescendant={choices[index] === undefined ? undefined : `choice-${index}`}
        placeholder="Page, worker, provider, action, id of a job, or words of its prompt"
        maxLength={searchLengthMax}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          chosen.value = 0;
        }}
        onKeyDown={onKey}
      />
      <div id="palette-choices" class="palette-choices" role="listbox" aria-label="Choices">
        {choices.map((choice, place) => (
          <div
            key={choice.id}
            id={`choice-${place}`}
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
            {choice.status === undefined ? null : <Badge status={choice.status} />}
            <span class="faint">{choice.kind}</span>
          </div>
        ))}
        {choices.length === 0 ? <p class="faint">No match.</p> : null}
      </div>
    </Dialog>
  );
}

/** Run the chosen action. @throws ApiError, Unreachable. */
async function carryOut(does: PaletteAction): Promise<void> {
  if ('go' in does) go(href(does.go));
  else if ('pause' in does) await pauseWorker(does.pause);
  else if ('resume' in does) await resumeWorker(does.resume);
  else if ('reset' in does) await resetProvider(does.reset);
  else if ('queue' in does) await (does.queue === 'pause' ? askToPause() : resumeQueue());
  else if ('theme' in does) theme.value = does.theme;
  else if ('notify' in does) void setNotifying(does.notify);
  else if ('show' in does) isHelpOpen.value = true;
  else signOutEverywhere();
}
