import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { WireRun } from '../../../domain/wire/run.ts';
import { Button } from '../../components/button.tsx';
import { confirm } from '../../components/dialog.tsx';
import { plural } from '../../components/text.ts';
import { notify } from '../../components/toasts.tsx';
import { api, may } from '../../session.ts';
import { LimitsDialog } from './limitsDialog.tsx';
import { retriedText } from './runCells.tsx';

interface Props {
  run: WireRun;
  reload(): void;
}

/** Whether it has ended for good or only has no jobs left now. */
export function isOpen({ status }: Pick<WireRun, 'status'>): boolean {
  return status === 'running' || status === 'paused';
}

/** What may be done with a run; nothing for a key that may only read. */
export function RunActions({ run, reload }: Props): JSX.Element | null {
  if (!may('client')) return null;
  const { name, status, counts } = run;
  const pause = async (): Promise<void> => {
    await api.peek().pauseRun(name);
    notify(`${name} is paused: running jobs continue`);
    reload();
  };
  return (
    <>
      {status === 'paused' ? <ResumeButton run={run} reload={reload} /> : null}
      {status === 'running' ? (
        <Button icon="paused" onClick={pause}>
          Pause
        </Button>
      ) : null}
      {counts.failed > 0 && status !== 'cancelled' ? (
        <Button icon="retry" onClick={() => retry(run, null, reload)}>
          Retry all failed
        </Button>
      ) : null}
      {isOpen(run) ? (
        <Button icon="stop" kind="danger" onClick={() => cancel(run, reload)}>
          Cancel
        </Button>
      ) : null}
    </>
  );
}

/** Retry failed jobs. @param errorClass null for all. @throws ApiError, Unreachable. */
export async function retry(run: WireRun, errorClass: string | null, reload: () => void): Promise<void> {
  notify(retriedText(await api.peek().retryRun(run.name, errorClass ?? undefined)));
  reload();
}

async function cancel({ name, counts }: WireRun, reload: () => void): Promise<void> {
  const open = counts.pending + counts.running;
  const isAgreed = await confirm({
    title: `Cancel ${name}?`,
    text: `${open === 0 ? 'It takes no more jobs' : `${plural(open, 'job')} that ${open === 1 ? 'has' : 'have'} not ended will be cancelled, and it takes no more`}. This cannot be undone. The answers so far remain, and so does their cost.`,
    verb: 'Cancel the run',
    isDangerous: true,
  });
  if (!isAgreed) return;
  await api.peek().cancelRun(name);
  notify(`${name} is cancelled`);
  reload();
}

/** Resume a run. One that a limit has paused needs another limit first. */
function ResumeButton({ run, reload }: Props): JSX.Element {
  const isAsking = useSignal(false);
  const isByLimit = run.paused !== null && run.paused.reason !== 'operator';
  const resume = async (): Promise<void> => {
    await api.peek().resumeRun(run.name);
    notify(`${run.name} is resumed`);
    reload();
  };
  return (
    <>
      <Button
        icon="running"
        kind="primary"
        onClick={() => {
          if (!isByLimit) return resume();
          isAsking.value = true;
        }}
      >
        {isByLimit ? 'Change the limit and resume' : 'Resume'}
      </Button>
      {isAsking.value ? (
        <ChangeLimits run={run} reload={reload} onClose={() => (isAsking.value = false)} />
      ) : null}
    </>
  );
}

/** The dialog of the limits; a paused run is resumed with them. */
export function ChangeLimits({ run, reload, onClose }: Props & { onClose(): void }): JSX.Element {
  const isPaused = run.status === 'paused';
  return (
    <LimitsDialog
      run={run}
      save={async (limits) => {
        await api.peek().resumeRun(run.name, limits);
        notify(isPaused ? `${run.name} is resumed` : `The limits of ${run.name} are changed`);
        reload();
      }}
      onClose={onClose}
    />
  );
}
