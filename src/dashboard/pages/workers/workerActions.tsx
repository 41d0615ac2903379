import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { WireWorker } from '../../../domain/wire/worker.ts';
import { Button } from '../../components/button.tsx';
import { confirm, FieldDialog } from '../../components/dialog.tsx';
import { plural } from '../../components/text.ts';
import { notify } from '../../components/toasts.tsx';
import { go, href } from '../../router.ts';
import { api, may } from '../../session.ts';
import { concurrencyOf } from './liveWorkers.ts';
import { pauseWorker, resumeWorker } from './pauseWorker.ts';

/** An operator's actions on a worker; nothing for others. */
export function WorkerActions({ worker }: { worker: WireWorker }): JSX.Element | null {
  const isResizing = useSignal(false);
  if (!may('operator')) return null;
  const { id, name, paused, connected } = worker;
  const forget = async (): Promise<void> => {
    const isAgreed = await confirm({
      title: `Forget ${name}?`,
      text: 'It is removed from this list with its counts, its pause and its concurrency. Its jobs and their cost remain. Every key may use its name, and a worker that connects with it is a new one.',
      verb: 'Forget the worker',
      isDangerous: true,
    });
    if (!isAgreed) return;
    await api.peek().forgetWorker(id);
    notify(`${name} is forgotten`);
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
  const save = async (text: string): Promise<string | null> => {
    const concurrency = concurrencyOf(text);
    if (concurrency === null) return 'A whole number from 0 to 10,000; 0 takes no jobs.';
    await api.peek().resizeWorker(worker.id, concurrency);
    notify(`${worker.name} takes ${plural(concurrency, 'job')} at a time`);
    return null;
  };
  return (
    <FieldDialog
      title={`Concurrency of ${worker.name}`}
      label="Jobs at a time"
      hint="If more are running, they finish before new ones start. It applies until the worker itself connects with another setting."
      verb="Change"
      initial={String(worker.concurrency)}
      inputMode="numeric"
      save={save}
      onClose={onClose}
    />
  );
}
