import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { CopyButton } from '../../components/copy.tsx';
import { Card } from '../../components/page.tsx';
import { beginning, count } from '../../components/text.ts';
import { showsRaw } from '../../shell/preferences.ts';
import { TextBlock } from './textBlock.tsx';
import { formOf } from './textForm.ts';

/** Markdown is rendered up to here, characters: a hostile text then costs less than a second. */
const renderedMax = 50_000;

/** A result: JSON indented, Markdown rendered, both also raw. */
export function ResultText(props: { title: string; text: string; beside?: ComponentChildren }): JSX.Element {
  const { title, text, beside } = props;
  const form = useMemo(() => formOf(text), [text]);
  if (form.kind === 'plain') return <TextBlock {...props} />;
  const tools = (
    <>
      {beside}
      <RawButton />
    </>
  );
  if (showsRaw.value) return <TextBlock title={title} text={text} beside={tools} />;
  if (form.kind === 'json')
    return <TextBlock title={title} text={form.pretty} copied={text} beside={tools} />;
  return <MarkdownBlock title={title} text={text} beside={tools} />;
}

function RawButton(): JSX.Element {
  return (
    <button
      type="button"
      class="button quiet small"
      aria-pressed={showsRaw.value}
      title="Show the text as the model wrote it"
      onClick={() => {
        showsRaw.value = !showsRaw.peek();
      }}
    >
      Raw
    </button>
  );
}

type Renderer = typeof import('./markdown.tsx').Markdown;

/** Loaded with the first Markdown text: other pages do not need it. */
function useRenderer(): Renderer | null {
  const loaded = useSignal<{ Markdown: Renderer } | null>(null);
  useEffect(() => {
    import('./markdown.tsx').then(
      (module) => {
        loaded.value = module;
      },
      // The raw text says the same.
      () => {},
    );
  }, [loaded]);
  return loaded.value?.Markdown ?? null;
}

function MarkdownBlock(props: { title: string; text: string; beside: ComponentChildren }): JSX.Element {
  const { title, text, beside } = props;
  const Renderer = useRenderer();
  const shown = useMemo(() => beginning(text, renderedMax), [text]);
  const rendered = useMemo(() => (Renderer === null ? null : <Renderer text={shown} />), [Renderer, shown]);
  return (
    <Card
      title={title}
      beside={
        <span class="card-tools">
          {beside}
          <CopyButton text={text} />
        </span>
      }
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard (WCAG 2.1.1). */}
      <div class="markdown" tabIndex={0} dir="auto">
        {rendered ?? <p class="plain">{shown}</p>}
      </div>
      {text.length > shown.length ? (
        <p class="hint">
          The first {count(shown.length)} of {count(text.length)} characters. Raw shows all of them.
        </p>
      ) : null}
    </Card>
  );
}
