import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { queueReasonMax } from '../../domain/queue.ts';
import { pausedQueueText } from '../../domain/wire/queueText.ts';
import { Button } from '../components/button.tsx';
import { FieldDialog } from '../components/dialog.tsx';
import { Icon } from '../components/icons.tsx';
import { Time } from '../components/time.tsx';
import { notify } from '../components/toasts.tsx';
import { useQueue } from '../live/store.ts';
import { api, may } from '../session.ts';

/** Resume the queue, and show that. @throws ApiError, Unreachable. */
export async function resumeQueue(): Promise<void> {
  await api.peek().resumeQueue();
  notify('The queue is resumed: waiting jobs start again');
}

/** On every page while the queue is paused: who paused it, when and why. */
export function QueueBanner(): JSX.Element | null {
  const queue = useQueue().value;
  if (queue === null || !queue.paused) return null;
  return (
    <div class="banner tone-warn">
      <Icon name="paused" />
      <p>
        <span dir="auto">{pausedQueueText(queue)}</span> (<Time at={queue.since} />
        ). Jobs are accepted and wait; running jobs continue.
      </p>
      {may('operator') ? (
        <Button kind="quiet" onClick={resumeQueue}>
          Resume
        </Button>
      ) : null}
    </div>
  );
}

/** Where operators pause and resume the queue; nothing for others. */
export function QueueSwitch(): JSX.Element | null {
  const queue = useQueue().value;
  if (queue === null || !may('operator')) return null;
  return queue.paused ? (
    <Button icon="running" onClick={resumeQueue}>
      Resume the queue
    </Button>
  ) : (
    <Button icon="paused" onClick={askToPause}>
      Pause the queue
    </Button>
  );
}

const isAsking = signal(false);

/** Open the dialog that pauses the queue. */
export function askToPause(): void {
  isAsking.value = true;
}

/** The dialog of `askToPause`, while it is open. */
export function PauseDialog(): JSX.Element | null {
  if (!isAsking.value) return null;
  const pause = async (reason: string): Promise<null> => {
    await api.peek().pauseQueue(reason);
    notify('The queue is paused: running jobs continue, and no new ones start');
    return null;
  };
  return (
    <FieldDialog
      title="Pause the queue?"
      text="Jobs are accepted and wait. Running jobs continue. The pause survives restarts."
      label="Reason"
      hint="Optional. Everybody sees it while the queue is paused."
      verb="Pause"
      maxLength={queueReasonMax}
      save={pause}
      onClose={() => {
        isAsking.value = false;
      }}
    />
  );
}
