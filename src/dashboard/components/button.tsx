import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { Icon, type IconName } from './icons.tsx';
import { failed } from './toasts.tsx';

interface Props {
  children: ComponentChildren;
  icon?: IconName;
  kind?: 'plain' | 'primary' | 'danger' | 'quiet';
  disabled?: boolean;
  /** Why it is disabled, or its effect. */
  title?: string;
  /** The button is disabled until its promise settles; a rejection is shown as a toast. */
  onClick(): void | Promise<void>;
}

/** A button for one action. It cannot be pressed again while the action runs. */
export function Button({
  children,
  icon,
  kind = 'plain',
  disabled = false,
  title,
  onClick,
}: Props): JSX.Element {
  const isBusy = useSignal(false);
  const press = async (): Promise<void> => {
    if (isBusy.peek()) return;
    isBusy.value = true;
    try {
      await onClick();
    } catch (error) {
      failed(error);
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <button
      type="button"
      class={`button ${kind}`}
      disabled={disabled}
      aria-busy={isBusy.value}
      title={title}
      onClick={() => void press()}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A button with only an icon; `label` is its name. */
export function IconButton(props: {
  icon: IconName;
  label: string;
  onClick(): void;
  pressed?: boolean;
}): JSX.Element {
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={props.label}
      aria-pressed={props.pressed}
      title={props.label}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}
