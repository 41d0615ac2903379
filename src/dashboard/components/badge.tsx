import type { JSX } from 'preact';
import { Icon, type IconName } from './icons.tsx';

/** The meaning of a state: each has a colour, and never the colour alone. */
export type Tone = 'neutral' | 'info' | 'active' | 'good' | 'bad' | 'warn';

interface Look {
  label: string;
  tone: Tone;
  icon: IconName;
  hint: string;
}

/** Every status of the API, of jobs, attempts, workers, providers and the coordinator. */
const looks: Record<string, Look> = {
  pending: { label: 'Pending', tone: 'info', icon: 'pending', hint: 'Waits in the queue' },
  running: { label: 'Running', tone: 'active', icon: 'running', hint: 'A worker runs it' },
  stuck: {
    label: 'Stuck',
    tone: 'warn',
    icon: 'warning',
    hint: 'Its worker crashed or lost the connection',
  },
  completed: { label: 'Completed', tone: 'good', icon: 'completed', hint: 'The result is there' },
  failed: { label: 'Failed', tone: 'bad', icon: 'failed', hint: 'Nothing left to try' },
  validating: { label: 'Checking', tone: 'info', icon: 'pending', hint: 'Its file is checked line by line' },
  in_progress: { label: 'Running', tone: 'active', icon: 'running', hint: 'Its lines run and wait' },
  expiring: {
    label: 'Expiring',
    tone: 'warn',
    icon: 'pending',
    hint: 'Its window is over: what runs may end, nothing else starts',
  },
  cancelling: {
    label: 'Cancelling',
    tone: 'neutral',
    icon: 'cancelled',
    hint: 'Its jobs are being cancelled',
  },
  finalizing: { label: 'Finalizing', tone: 'active', icon: 'running', hint: 'Its files are being written' },
  expired: { label: 'Expired', tone: 'warn', icon: 'warning', hint: 'Not every line was tried in time' },
  cancelled: { label: 'Cancelled', tone: 'neutral', icon: 'cancelled', hint: 'Somebody ended it' },
  rate_limited: { label: 'Rate limited', tone: 'warn', icon: 'warning', hint: 'The provider answered 429' },
  timed_out: { label: 'Timed out', tone: 'bad', icon: 'failed', hint: 'It exceeded its timeout' },
  reaped: { label: 'Worker lost', tone: 'warn', icon: 'offline', hint: 'Its worker was silent for too long' },
  lost: { label: 'Worker lost', tone: 'warn', icon: 'offline', hint: 'Its worker returned without it' },
  released: { label: 'Given back', tone: 'neutral', icon: 'retry', hint: 'The worker gave it back' },
  active: { label: 'Active', tone: 'good', icon: 'completed', hint: 'Connected, takes jobs' },
  paused: { label: 'Paused', tone: 'warn', icon: 'paused', hint: 'Takes no new jobs; running jobs continue' },
  draining: {
    label: 'Draining',
    tone: 'warn',
    icon: 'paused',
    hint: 'Finishes running jobs and takes no new ones',
  },
  disconnected: {
    label: 'Disconnected',
    tone: 'neutral',
    icon: 'offline',
    hint: 'Known by name, not connected',
  },
  available: { label: 'Available', tone: 'good', icon: 'completed', hint: 'Takes requests' },
  limited: {
    label: 'Limited',
    tone: 'warn',
    icon: 'pending',
    hint: 'Answered 429: nothing is sent for a while',
  },
  open: {
    label: 'Stopped',
    tone: 'bad',
    icon: 'warning',
    hint: 'Too many attempts failed: nothing is sent for a while',
  },
  probing: {
    label: 'Probing',
    tone: 'info',
    icon: 'running',
    hint: 'One job is sent to see whether it works again',
  },
};

/** A status as icon, text and colour. A status unknown to this page is shown by its name. */
export function Badge(props: {
  status: string;
  count?: string | undefined;
  /** In place of the usual one. */
  hint?: string;
}): JSX.Element {
  const { status, count } = props;
  const look = lookOf(status);
  return (
    <span class={`badge tone-${look.tone}`} title={props.hint ?? look.hint}>
      <Icon name={look.icon} />
      {look.label}
      {count === undefined ? null : <span class="badge-count">{count}</span>}
    </span>
  );
}

/** The label of a status on the pages. */
export function statusLabel(status: string): string {
  return lookOf(status).label;
}

function lookOf(status: string): Look {
  return looks[status] ?? { label: status, tone: 'neutral', icon: 'info', hint: status };
}
