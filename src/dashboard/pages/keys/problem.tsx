import type { JSX } from 'preact';
import { Icon } from '../../components/icons.tsx';

/** What is wrong with the input, shown beside it. */
export function Problem({ text }: { text: string | null }): JSX.Element {
  return (
    <div role="alert">
      {text === null ? null : (
        <p class="form-problem">
          <Icon name="warning" />
          {text}
        </p>
      )}
    </div>
  );
}
