import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { CopyButton } from '../../components/copy.tsx';
import { Card } from '../../components/page.tsx';
import { beginning, count } from '../../components/text.ts';

/** A longer text is shown on request: a megabyte makes a page slow. */
const shownMax = 50_000;

/** A plain text, never markup, with its lines and a button to copy it whole. */
export function TextBlock(props: {
  title: string;
  text: string;
  /** What the Copy button copies; the text itself by default. */
  copied?: string;
  beside?: ComponentChildren;
}): JSX.Element {
  const { title, text, copied = text, beside } = props;
  const isWrapped = useSignal(true);
  const isWhole = useSignal(false);
  const isCut = !isWhole.value && text.length > shownMax;
  return (
    <Card
      title={title}
      beside={
        <span class="card-tools">
          {beside}
          <WrapButton isOn={isWrapped.value} onClick={() => (isWrapped.value = !isWrapped.peek())} />
          <CopyButton text={copied} />
        </span>
      }
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard (WCAG 2.1.1). */}
      <pre class={isWrapped.value ? 'text-block wrapped' : 'text-block'} tabIndex={0} dir="auto">
        {isCut ? beginning(text, shownMax) : text}
      </pre>
      {isCut ? (
        <button type="button" class="button small" onClick={() => (isWhole.value = true)}>
          Show all {count(text.length)} characters
        </button>
      ) : null}
    </Card>
  );
}

export function WrapButton({ isOn, onClick }: { isOn: boolean; onClick(): void }): JSX.Element {
  return (
    <button type="button" class="button quiet small" aria-pressed={isOn} onClick={onClick}>
      Wrap lines
    </button>
  );
}
