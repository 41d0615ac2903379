import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { WireWorker } from '../../../domain/wire/worker.ts';
import { Button } from '../../components/button.tsx';
import { confirm, Dialog } from '../../components/dialog.tsx';
import { plural } from '../../components/text.ts';
import { explain, told } from '../../components/toasts.tsx';
import { go, href } from '../../router.ts';
import { api, may } from '../../session.ts';
import { concurrencyOf } from './liveWorkers.ts';
import { pauseWorker, resumeWorker } from './pauseWorker.ts';

/** What an operator may do with a worker; nothing for others. */
export function WorkerActions({ worker }: { worker: WireWorker }): JSX.Element | null {
  const isResizing = useSignal(false);
  if (!may('operator')) return null;
  const { id, name, paused, connected } = worker;
  const forget = async (): Promise<void> => {
    const isAgreed = await confirm({
      title: `Forget ${name}?`,
      text: 'It leaves this list with its counts, its pause and its concurrency. Its jobs and what they cost stay. Its name is free for every key, and a worker that connects under it is a new one.',
      verb: 'Forget the worker',
      isDangerous: true,
    });
    if (!isAgreed) return;
    await api.peek().forgetWorker(id);
    told(`${name} is forgotten`);
    go(href('/workers'));
  };
  return (
    <span class="row-actions">
      {paused ? (
        <Button onClick={() => resumeWorker(worker)}>Resume</Button>
      ) : (
        <Button onClick={() => pauseWorker(worker)}>Pause</Button>
      )}
      <Button
        onClick={() => {
          isResizing.value = true;
        }}
      >
        Concurrency
      </Button>
      {connected ? null : (
        <Button kind="danger" onClick={forget}>
          Forget
        </Button>
      )}
      {isResizing.value ? <Resize worker={worker} onClose={() => (isResizing.value = false)} /> : null}
    </span>
  );
}

function Resize({ worker, onClose }: { worker: WireWorker; onClose(): void }): JSX.Element {
  const text = useSignal(String(worker.concurrency));
  const problem = useSignal<string | null>(null);
  const save = async (): Promise<void> => {
    const concurrency = concurrencyOf(text.peek());
    if (concurrency === null) {
      problem.value = 'A whole number from 0 to 10,000; 0 takes no jobs.';
      return;
    }
    try {
      await api.peek().resizeWorker(worker.id, concurrency);
    } catch (error) {
      problem.value = explain(error);
      return;
    }
    told(`${worker.name} takes ${plural(concurrency, 'job')} at a time`);
    onClose();
  };
  const actions = (
    <>
      <Button kind="quiet" onClick={onClose}>
        Leave it
      </Button>
      <Button kind="primary" onClick={save}>
        Change
      </Button>
    </>
  );
  return (
    <Dialog title={`Concurrency of ${worker.name}`} actions={actions} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <label class="field">
          Jobs at a time
          <input
            type="text"
            inputMode="numeric"
            value={text.value}
            aria-invalid={problem.value !== null}
            aria-describedby="concurrency-hint"
            onInput={({ currentTarget }) => {
              text.value = currentTarget.value;
              problem.value = null;
            }}
          />
          <span class={problem.value === null ? 'hint' : 'form-problem'} id="concurrency-hint" role="status">
            {problem.value ??
              'Fewer than run now: those finish, and no new one starts until there is room. Holds until the worker itself connects with another setting.'}
          </span>
        </label>
      </form>
    </Dialog>
  );
}
