import type { ComponentChildren, JSX } from 'preact';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icons.tsx';
import { explain } from './toasts.tsx';

/** An empty state: what is missing, why, and what to do about it. */
export function Empty(props: { icon?: IconName; title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <Icon name={props.icon ?? 'info'} />
      <p class="empty-title">{props.title}</p>
      {props.children === undefined ? null : <div class="empty-text">{props.children}</div>}
    </div>
  );
}

/** A placeholder as high as the content being loaded, so that nothing jumps. */
export function Loading({ lines = 3, label = 'Loading' }: { lines?: number; label?: string }): JSX.Element {
  return (
    <div class="loading" role="status">
      <span class="visually-hidden">{label}</span>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} class="skeleton" aria-hidden="true" />
      ))}
    </div>
  );
}

/** A failed request: the coordinator's message, and a retry. */
export function Failure({ error, retry }: { error: unknown; retry?: (() => void) | undefined }): JSX.Element {
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <p>{explain(error)}</p>
      {retry === undefined ? null : (
        <Button icon="retry" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}
