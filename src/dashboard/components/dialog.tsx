import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Button, IconButton } from './button.tsx';

interface DialogProps {
  title: string;
  children: ComponentChildren;
  /** Under the content, the last one is the main one. */
  actions?: ComponentChildren;
  isWide?: boolean;
  onClose(): void;
}

/** Where the focus begins: at what is asked for, else at the first button. */
const firstField = '.dialog-body :is(input:not([type="checkbox"]), select, textarea)';

/** A window over the page: the browser keeps the focus inside, and at the end it goes back. Escape closes it. */
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
      // The browser gives it back only while the dialog is still in the page.
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

interface Question {
  title: string;
  /** What will happen, and what will not. */
  text: string;
  /** On the button: the verb of what happens. */
  verb: string;
  isDangerous: boolean;
  answer(isYes: boolean): void;
}

const question = signal<Question | null>(null);

/** Ask before something that cannot be taken back. @returns whether to do it. */
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

/** Where `confirm` asks. */
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
