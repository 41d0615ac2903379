import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { queueReasonMax } from '../../domain/queue.ts';
import { pausedQueueText } from '../../domain/wire/queueText.ts';
import { Button } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Icon } from '../components/icons.tsx';
import { Time } from '../components/time.tsx';
import { explain, told } from '../components/toasts.tsx';
import { useQueue } from '../live/store.ts';
import { api, may } from '../session.ts';

/** Pause the queue, and say so. @throws ApiError, Unreachable. */
export async function pauseQueue(reason?: string): Promise<void> {
  await api.peek().pauseQueue(reason);
  told('The queue is paused: running jobs go on, and no new ones start');
}

/** Resume the queue, and say so. @throws ApiError, Unreachable. */
export async function resumeQueue(): Promise<void> {
  await api.peek().resumeQueue();
  told('The queue is resumed: waiting jobs start again');
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
        ). Jobs are accepted and wait; running jobs go on.
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
  const isAsking = useSignal(false);
  if (queue === null || !may('operator')) return null;
  if (queue.paused) {
    return (
      <Button icon="running" onClick={resumeQueue}>
        Resume the queue
      </Button>
    );
  }
  return (
    <>
      <Button
        icon="paused"
        onClick={() => {
          isAsking.value = true;
        }}
      >
        Pause the queue
      </Button>
      {isAsking.value ? <PauseDialog onClose={() => (isAsking.value = false)} /> : null}
    </>
  );
}

function PauseDialog({ onClose }: { onClose(): void }): JSX.Element {
  const reason = useSignal('');
  const problem = useSignal<string | null>(null);
  const pause = async (): Promise<void> => {
    try {
      await pauseQueue(reason.peek());
    } catch (error) {
      problem.value = explain(error);
      return;
    }
    onClose();
  };
  const actions = (
    <>
      <Button kind="quiet" onClick={onClose}>
        Leave it
      </Button>
      <Button kind="primary" onClick={pause}>
        Pause
      </Button>
    </>
  );
  return (
    <Dialog title="Pause the queue?" actions={actions} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void pause();
        }}
      >
        <p>Jobs are accepted and wait. Running jobs go on. The pause survives restarts.</p>
        <label class="field">
          Reason
          <input
            type="text"
            value={reason.value}
            maxLength={queueReasonMax}
            aria-describedby="pause-hint"
            onInput={({ currentTarget }) => {
              reason.value = currentTarget.value;
              problem.value = null;
            }}
          />
          <span class={problem.value === null ? 'hint' : 'form-problem'} id="pause-hint" role="status">
            {problem.value ?? 'Optional. Everybody sees it while the queue is paused.'}
          </span>
        </label>
      </form>
    </Dialog>
  );
}
