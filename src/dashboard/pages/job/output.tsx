import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { type ChunkPart, textOfParts } from '../../../domain/chunkParts.ts';
import { Badge } from '../../components/badge.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Card } from '../../components/page.tsx';
import type { OutputSoFar } from './liveOutput.ts';
import { WrapButton } from './textBlock.tsx';

/** Within this distance of the end the view follows the output, px. */
const nearPx = 40;

/** The output while it is generated. The view follows its end until the reader scrolls away. */
export function LiveOutput({ output }: { output: OutputSoFar | null }): JSX.Element {
  const place = useRef<HTMLPreElement>(null);
  const isFollowing = useSignal(true);
  const isWrapped = useSignal(true);
  const parts = output?.parts ?? [];
  useEffect(() => {
    const pre = place.current;
    if (pre !== null && isFollowing.peek()) pre.scrollTop = pre.scrollHeight;
  }, [output, isFollowing.value, isFollowing]);
  const onScroll = (): void => {
    const pre = place.current;
    if (pre !== null) isFollowing.value = pre.scrollHeight - pre.scrollTop - pre.clientHeight < nearPx;
  };
  return (
    <Card
      title="Output"
      beside={
        <span class="card-tools">
          <Badge status="running" />
          <button
            type="button"
            class="button quiet small"
            aria-pressed={isFollowing.value}
            onClick={() => (isFollowing.value = !isFollowing.peek())}
          >
            Follow
          </button>
          <WrapButton isOn={isWrapped.value} onClick={() => (isWrapped.value = !isWrapped.peek())} />
          <CopyButton text={textOfParts(parts)} />
        </span>
      }
    >
      {output?.isTruncated === true ? <p class="hint">The beginning is left out while it streams.</p> : null}
      {/* biome-ignore-start lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard (WCAG 2.1.1). */}
      {/* biome-ignore-start lint/a11y/noNoninteractiveElementToInteractiveRole: a log is no control. */}
      <pre
        ref={place}
        class={isWrapped.value ? 'text-block live wrapped' : 'text-block live'}
        role="log"
        aria-label="Output so far"
        tabIndex={0}
        dir="auto"
        onScroll={onScroll}
      >
        {parts.length === 0 ? 'Nothing yet.' : parts.map(shownPart)}
      </pre>
      {/* biome-ignore-end lint/a11y/noNoninteractiveElementToInteractiveRole: see above. */}
      {/* biome-ignore-end lint/a11y/noNoninteractiveTabindex: see above. */}
    </Card>
  );
}

/** Reasoning and tool calls are set apart from the text, which alone is the output. */
function shownPart(part: ChunkPart, index: number): JSX.Element | string {
  if (part.type === 'text') return part.text;
  return (
    <span key={index} class="aside">
      {part.type === 'reasoning' ? part.text : `→ ${part.name ?? ''} ${part.arguments}`}
    </span>
  );
}
