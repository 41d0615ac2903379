import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { bulkFilter } from '../../../client/client.ts';
import type { BulkBody, WireBulk } from '../../../domain/wire/job.ts';
import { Button } from '../../components/button.tsx';
import { confirm } from '../../components/dialog.tsx';
import { count, plural } from '../../components/text.ts';
import { notify } from '../../components/toasts.tsx';
import { api } from '../../session.ts';
import type { JobList } from './jobList.ts';
import type { Selection } from './selection.ts';

type Action = 'cancel' | 'retry';

/** The API's limit of ids in one request. */
const idsMax = 1_000;

const words: Record<Action, { verb: string; done: string; possible: readonly string[]; none: string }> = {
  cancel: {
    verb: 'Cancel',
    done: 'cancelled',
    possible: ['pending', 'running'],
    none: 'None of the selected jobs is pending or running.',
  },
  retry: {
    verb: 'Retry',
    done: 'back in the queue',
    possible: ['failed', 'stuck'],
    none: 'None of the selected jobs has failed or is stuck.',
  },
};

/** Actions on the selected jobs. Shown while any are selected. */
// Over 60 lines: its markup stays in one piece.
export function BulkBar(props: {
  list: JobList;
  selection: Selection;
  /** Called after jobs were changed, even if only some. */
  onChanged(): void;
}): JSX.Element | null {
  const { list, selection, onChanged } = props;
  const progress = useSignal<string | null>(null);
  if (selection.isEmpty.value) return null;
  const { total, isCapped } = list.state.value;
  const all = `${count(total ?? 0)}${isCapped ? ' or more' : ''}`;
  const act = async (action: Action): Promise<void> => {
    const { verb, done } = words[action];
    const wanted = selection.isAll.peek()
      ? await countOfAll(list, action)
      : countOfChosen(list, selection, action);
    if (wanted.text === null) {
      notify(words[action].none);
      return;
    }
    const isAgreed = await confirm({
      title: `${verb} ${wanted.text}?`,
      text: consequence(action),
      verb: `${verb} ${wanted.text}`,
      isDangerous: action === 'cancel',
    });
    if (!isAgreed) return;
    const outcome = { changed: 0, refused: 0 };
    try {
      for await (const { changed, refused_count } of change(list, selection, action)) {
        outcome.changed += changed;
        outcome.refused += refused_count;
        progress.value = `${count(outcome.changed)} of ${wanted.text} ${done}`;
      }
    } finally {
      progress.value = null;
      onChanged();
    }
    const rest =
      outcome.refused === 0
        ? ''
        : `; ${plural(outcome.refused, 'job')} could not be: their state had changed`;
    notify(`${plural(outcome.changed, 'job')} ${done}${rest}`);
    selection.clear();
  };
  return (
    <section class="bulk-bar" aria-label="Selected jobs">
      <span class="bulk-count">
        {selection.isAll.value
          ? `All ${all} that match`
          : `${plural(selection.ids.value.size, 'job')} selected`}
      </span>
      {selection.isAll.value || (total ?? 0) <= selection.ids.value.size ? null : (
        <Button kind="quiet" onClick={() => selection.setAll()}>
          Select all {all} that match
        </Button>
      )}
      <span class="bulk-actions">
        {progress.value === null ? null : <span role="status">{progress.value}</span>}
        <Button icon="retry" onClick={() => act('retry')}>
          Retry
        </Button>
        <Button icon="stop" kind="danger" onClick={() => act('cancel')}>
          Cancel
        </Button>
        <Button kind="quiet" onClick={() => selection.clear()}>
          Clear
        </Button>
      </span>
    </section>
  );
}

function consequence(action: Action): string {
  return action === 'cancel'
    ? 'They end at once and cannot be resumed. Workers stop them; the cost of their attempts remains.'
    : 'They return to the queue with the same id and keep their history. Their cost so far remains.';
}

/** How many of all matching jobs the action can change. Counting stops at 10,000. */
async function countOfAll(list: JobList, action: Action): Promise<{ text: string | null }> {
  const statuses = possibleStatuses(list, action);
  if (statuses.length === 0) return { text: null };
  const { total, total_capped: isCapped } = await api
    .peek()
    .jobs({ ...list.filters, status: statuses.join(','), limit: 1 });
  if (total === 0) return { text: null };
  return { text: isCapped === true ? `more than ${count(total)} jobs` : plural(total, 'job') };
}

/** There is no list of stuck jobs: a retry of all includes them. */
function possibleStatuses(list: JobList, action: Action): string[] {
  const wanted = list.filters.status?.split(',') ?? ['pending', 'running', 'failed'];
  return words[action].possible.filter((status) => wanted.includes(status));
}

function countOfChosen(list: JobList, selection: Selection, action: Action): { text: string | null } {
  const { possible } = words[action];
  const fits = [...selection.ids.peek()].filter((id) => {
    const job = list.get(id);
    // The coordinator decides about jobs that are no longer loaded.
    return job === undefined || possible.includes(job.stuck && action === 'retry' ? 'stuck' : job.status);
  });
  return { text: fits.length === 0 ? null : plural(fits.length, 'job') };
}

/** Repeat the request until all jobs are changed. */
async function* change(list: JobList, selection: Selection, action: Action): AsyncGenerator<WireBulk> {
  const client = api.peek();
  const ask = (body: BulkBody): Promise<WireBulk> =>
    action === 'cancel' ? client.cancelMany(body) : client.retryMany(body);
  if (selection.isAll.peek()) {
    const filter = bulkFilter(list.filters);
    let hasMore = true;
    while (hasMore) {
      const outcome = await ask({ filter });
      yield outcome;
      // Requests that only refuse would never end.
      hasMore = outcome.has_more && outcome.changed > 0;
    }
    return;
  }
  const ids = [...selection.ids.peek()];
  for (let from = 0; from < ids.length; from += idsMax)
    yield await ask({ ids: ids.slice(from, from + idsMax) });
}
