import { type Signal, signal, useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Button, IconButton } from './button.tsx';
import { explain } from './toasts.tsx';

interface DialogProps {
  title: string;
  children: ComponentChildren;
  /** Below the content; the last one is the primary one. */
  actions?: ComponentChildren;
  isWide?: boolean;
  onClose(): void;
}

/** Do something; if it fails, `problem` says why. */
export async function orExplain(problem: Signal<string | null>, task: () => Promise<void>): Promise<void> {
  try {
    await task();
  } catch (error) {
    problem.value = explain(error);
  }
}

/** The buttons below a form in a dialog: leave it as it is, or do what the form is for. */
export function FormActions(props: {
  label: string;
  /** What it throws is explained in `problem`. */
  onDo(): Promise<void>;
  problem: Signal<string | null>;
  onClose(): void;
}): JSX.Element {
  return (
    <>
      <Button kind="quiet" onClick={props.onClose}>
        Leave it
      </Button>
      <Button kind="primary" onClick={() => orExplain(props.problem, props.onDo)}>
        {props.label}
      </Button>
    </>
  );
}

/** The initial focus: the first field, else the first button. */
const firstField = '.dialog-body :is(input:not([type="checkbox"]), select, textarea)';

/** A modal window: the browser traps the focus, which returns at the end. Escape closes it. */
export function Dialog({ title, children, actions, isWide = false, onClose }: DialogProps): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>(firstField)?.focus();
    return () => {
      dialog?.close();
      // The browser only restores it while the dialog is still in the page.
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={isWide ? 'dialog wide' : 'dialog'}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </header>
      <div class="dialog-body">{children}</div>
      {actions === undefined ? null : <footer class="dialog-actions">{actions}</footer>}
    </dialog>
  );
}

/**
 * A dialog with one field: a hint below it, replaced by the error while there is one.
 * @param props.save called with the text, also by Enter. @returns why it failed; null to close the dialog.
 */
// Over 60 lines: its markup stays in one piece.
export function FieldDialog(props: {
  title: string;
  /** Above the field. */
  text?: string;
  label: string;
  hint: string;
  /** The label of the button. */
  verb: string;
  initial?: string;
  inputMode?: 'numeric';
  maxLength?: number;
  save(text: string): Promise<string | null>;
  onClose(): void;
}): JSX.Element {
  const text = useSignal(props.initial ?? '');
  const problem = useSignal<string | null>(null);
  const hintId = useId();
  const save = async (): Promise<void> => {
    problem.value = await props.save(text.peek()).catch(explain);
    if (problem.peek() === null) props.onClose();
  };
  const actions = <FormActions label={props.verb} onDo={save} problem={problem} onClose={props.onClose} />;
  return (
    <Dialog title={props.title} actions={actions} onClose={props.onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {props.text === undefined ? null : <p>{props.text}</p>}
        <label class="field">
          {props.label}
          <input
            type="text"
            inputMode={props.inputMode}
            maxLength={props.maxLength}
            value={text.value}
            aria-invalid={problem.value !== null}
            aria-describedby={hintId}
            onInput={({ currentTarget }) => {
              text.value = currentTarget.value;
              problem.value = null;
            }}
          />
          <span class={problem.value === null ? 'hint' : 'form-problem'} id={hintId} role="status">
            {problem.value ?? props.hint}
          </span>
        </label>
      </form>
    </Dialog>
  );
}

interface Question {
  title: string;
  /** What will happen, and what will not. */
  text: string;
  /** The label of the button: the verb of the action. */
  verb: string;
  isDangerous: boolean;
  answer(isYes: boolean): void;
}

const question = signal<Question | null>(null);

/** Ask for confirmation. @returns whether to proceed. */
export function confirm(asked: {
  title: string;
  text: string;
  verb: string;
  isDangerous?: boolean;
}): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  question.peek()?.answer(false);
  question.value = {
    isDangerous: false,
    ...asked,
    answer: (isYes) => {
      question.value = null;
      resolve(isYes);
    },
  };
  return promise;
}

/** Shows the question of `confirm`. */
export function Confirmation(): JSX.Element | null {
  const asked = question.value;
  if (asked === null) return null;
  const actions = (
    <>
      <Button kind="quiet" onClick={() => asked.answer(false)}>
        Leave it
      </Button>
      <Button kind={asked.isDangerous ? 'danger' : 'primary'} onClick={() => asked.answer(true)}>
        {asked.verb}
      </Button>
    </>
  );
  return (
    <Dialog title={asked.title} actions={actions} onClose={() => asked.answer(false)}>
      <p>{asked.text}</p>
    </Dialog>
  );
}
