import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import type { ResumeRunBody, WireRun } from '../../../domain/wire/run.ts';
import { Dialog, FormActions, orExplain } from '../../components/dialog.tsx';
import { Problem } from '../keys/problem.tsx';
import { changedLimits, type LimitTexts, textsOf } from './limits.ts';

interface LimitField {
  name: keyof LimitTexts;
  label: string;
  hint: string;
  type: 'text' | 'datetime-local';
}

const fields: readonly LimitField[] = [
  {
    name: 'maxCost',
    label: 'Budget in dollars',
    hint: 'The run pauses before it spends more. Empty: no limit.',
    type: 'text',
  },
  {
    name: 'maxFailures',
    label: 'Failed jobs',
    hint: 'The run pauses when this many of its jobs have failed. Empty: no limit.',
    type: 'text',
  },
  {
    name: 'deadline',
    label: 'Deadline',
    hint: 'The run pauses at this time, in your time zone. Empty: none.',
    type: 'datetime-local',
  },
];

/** The field of the limit that has paused the run. */
const fieldOfReason: Record<string, keyof LimitTexts> = {
  max_cost: 'maxCost',
  max_failures: 'maxFailures',
  deadline: 'deadline',
};

interface Props {
  run: WireRun;
  /** @throws ApiError, Unreachable: shown in the dialog. */
  save(limits: ResumeRunBody): Promise<void>;
  onClose(): void;
}

/** The limits of a run, to change them, and to resume it when it is paused. The one that has paused it is first. */
export function LimitsDialog({ run, save, onClose }: Props): JSX.Element {
  const texts = useSignal(textsOf(run));
  const problem = useSignal<string | null>(null);
  const isPaused = run.status === 'paused';
  const first = fieldOfReason[run.paused?.reason ?? ''];
  const submit = async (): Promise<void> => {
    const limits = changedLimits(texts.peek(), run);
    if (typeof limits === 'string') {
      problem.value = limits;
      return;
    }
    await save(limits);
    onClose();
  };
  const label = isPaused ? 'Resume' : 'Change';
  const actions = <FormActions label={label} onDo={submit} problem={problem} onClose={onClose} />;
  return (
    <Dialog
      title={isPaused ? `Resume ${run.name}` : `Limits of ${run.name}`}
      actions={actions}
      onClose={onClose}
    >
      {isPaused && run.paused !== null ? <p dir="auto">{run.paused.detail}.</p> : null}
      <form
        class="limit-fields"
        onSubmit={(event) => {
          event.preventDefault();
          void orExplain(problem, submit);
        }}
      >
        {fields
          .toSorted((a, b) => Number(b.name === first) - Number(a.name === first))
          .map((field) => (
            <Limit
              key={field.name}
              field={field}
              text={texts.value[field.name]}
              onInput={(text) => {
                texts.value = { ...texts.peek(), [field.name]: text };
                problem.value = null;
              }}
            />
          ))}
        <button type="submit" class="visually-hidden" tabIndex={-1} aria-hidden="true" />
      </form>
      <Problem text={problem.value} />
    </Dialog>
  );
}

function Limit(props: { field: LimitField; text: string; onInput(text: string): void }): JSX.Element {
  const { label, hint, type } = props.field;
  const id = useId();
  const common = {
    id,
    value: props.text,
    'aria-describedby': `${id}-hint`,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) => props.onInput(currentTarget.value),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {type === 'text' ? (
        <input {...common} type="text" inputMode="decimal" autocomplete="off" />
      ) : (
        <input {...common} type={type} />
      )}
      <span class="hint" id={`${id}-hint`}>
        {hint}
      </span>
    </div>
  );
}
