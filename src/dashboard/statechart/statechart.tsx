import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { go } from '../router.ts';
import { anyState, type Chart, type ChartEdge, type ChartState } from './chart.ts';
import { arrowHead, figuresPlace, inset, labelPlaces, linePath, namePlace } from './geometry.ts';
import { cornerRadius, labelSize, markRadius, nameSize } from './measures.ts';
import { StatechartText } from './statechartText.tsx';
import type { StateNote } from './stateNote.ts';
import { toneOf } from './tones.ts';
import { nothingTaken, type Taken, withAncestors } from './visits.ts';

const noState: readonly string[] = [];

interface Props {
  chart: Chart;
  /** A description of the picture, for screen readers. */
  label: string;
  /** Paths of the lit states, one for each region; their ancestors are outlined. */
  current?: readonly string[];
  notes?: ReadonlyMap<string, StateNote>;
  /** The arrows of the last change. */
  taken?: Taken;
  /** A changed value animates the last change again. */
  takenKey?: string | number;
  /** The link of a state; null for none. */
  hrefOf?: (path: string) => string | null;
}

/**
 * A machine as a picture; no layout happens here. States are focusable and explain themselves; the same is below as
 * text. On a narrow screen it scrolls sideways, with the lit state in view.
 */
// Over 60 lines: its markup stays in one piece.
export function Statechart(props: Props): JSX.Element {
  const { chart, label, current = noState, taken = nothingTaken } = props;
  const described = useSignal<string | null>(null);
  const place = useRef<HTMLDivElement>(null);
  const inView = chart.states.find(({ path }) => path === (current[0] ?? chart.initial));
  useEffect(() => {
    const box = place.current;
    if (box === null || inView === undefined) return;
    const middle = ((inView.box.x + inView.box.width / 2) / chart.width) * box.scrollWidth;
    box.scrollLeft = middle - box.clientWidth / 2;
  }, [inView, chart]);
  const shown = chart.states.find(({ path }) => path === (described.value ?? current[0]));
  const edges = chart.edges.map((edge, index) => ({ edge, index }));
  // Taken arrows are drawn last, over the others.
  const ordered = [...edges].sort((a, b) => Number(taken.has(a.index)) - Number(taken.has(b.index)));
  return (
    <div class="statechart">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard (WCAG 2.1.1). */}
      <div class="statechart-place" ref={place} tabIndex={0}>
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot stand in for a picture with links in it */}
        <svg
          class="statechart-picture"
          viewBox={`0 0 ${chart.width} ${chart.height}`}
          style={{ maxWidth: `${chart.width}px` }}
          role="group"
          aria-label={label}
        >
          {chart.states.map((state) => (
            <StateBox
              key={state.path}
              state={state}
              {...props}
              current={current}
              onEnter={(path) => (described.value = path)}
              onLeave={(path) => {
                // When the page scrolls under the pointer, the state that it leaves may not be the one described now.
                if (described.value === path) described.value = null;
              }}
            />
          ))}
          {ordered.map(({ edge, index }) => (
            <Arrow
              key={taken.has(index) ? `${index} ${props.takenKey}` : index}
              edge={edge}
              of={taken.get(index) ?? null}
            />
          ))}
          {chart.states
            .filter(({ kind }) => kind === 'compound')
            .map((state) => (
              // biome-ignore lint/a11y/noAriaHiddenOnFocusable: it takes no focus; drawn over the arrows that cross its title
              <g key={state.path} class={classOf(state, props)} aria-hidden="true">
                <StateText state={state} note={props.notes?.get(state.path)} />
              </g>
            ))}
        </svg>
      </div>
      <p class="statechart-description">
        {shown === undefined ? (
          'Point at a state to read what it means.'
        ) : (
          <>
            <strong>{nameOf(shown)}</strong> {shown.description}
          </>
        )}
      </p>
      <StatechartText chart={chart} label={label} current={current} notes={props.notes} />
    </div>
  );
}

function nameOf({ path, name }: ChartState): string {
  return path === anyState ? name : path;
}

// Over 60 lines: its markup stays in one piece.
function StateBox(
  props: Props & {
    state: ChartState;
    current: readonly string[];
    onEnter(path: string): void;
    onLeave(path: string): void;
  },
): JSX.Element {
  const { state, current, notes, hrefOf, onEnter, onLeave } = props;
  const { path, box, kind, isEnd } = state;
  const note = notes?.get(path);
  const isCurrent = current.includes(path);
  const classes = classOf(state, props);
  const href = hrefOf?.(path) ?? null;
  // It starts with the visible text, so that speech input can name it (WCAG 2.5.3).
  const spoken = [
    [state.name, note?.figures ?? ''].join(' ').trim(),
    state.name === nameOf(state) ? '' : nameOf(state),
    isCurrent ? 'is in this state now' : '',
    note?.spoken ?? '',
    state.description,
  ];
  const inner = inset(box, 3);
  const handlers = {
    onPointerEnter: () => onEnter(path),
    onPointerLeave: () => onLeave(path),
    onFocus: () => onEnter(path),
    onBlur: () => onLeave(path),
  };
  const drawn = (
    <>
      <rect class="state-box" x={box.x} y={box.y} width={box.width} height={box.height} rx={cornerRadius} />
      {isEnd ? (
        <rect
          class="state-end"
          x={inner.x}
          y={inner.y}
          width={inner.width}
          height={inner.height}
          rx={cornerRadius - 3}
        />
      ) : null}
      {kind === 'compound' ? null : <StateText state={state} note={note} />}
    </>
  );
  const label = spoken.filter((part) => part !== '').join('. ');
  if (href === null) {
    return (
      // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: a group of SVG is no interactive element
      <g class={classes} role="img" tabIndex={0} data-state={path} aria-label={label} {...handlers}>
        {drawn}
      </g>
    );
  }
  // The router handles HTML links; this one is SVG.
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(href);
  };
  return (
    <a class={classes} href={href} data-state={path} aria-label={label} onClick={follow} {...handlers}>
      {drawn}
    </a>
  );
}

function classOf({ path, kind }: ChartState, { current = noState, notes }: Props): string {
  const isCurrent = current.includes(path);
  const isAround = !isCurrent && current.some((one) => withAncestors(one).includes(path));
  return [
    'state',
    `state-${path === anyState ? 'any' : kind}`,
    `tone-${toneOf(path)}`,
    isCurrent ? 'is-current' : '',
    isAround ? 'is-around' : '',
    notes?.get(path)?.isUsed === true ? 'is-used' : '',
  ].join(' ');
}

/** Its name, and its figures below or at the other end of the title. */
function StateText({ state, note }: { state: ChartState; note: StateNote | undefined }): JSX.Element {
  const figures = note?.figures ?? '';
  const name = namePlace(state, figures !== '');
  const below = figuresPlace(state);
  return (
    <>
      <text class="state-name" x={name.x} y={name.y} font-size={nameSize}>
        {state.name}
      </text>
      {/* Otherwise the two would be read as one word. */ ' '}
      {figures === '' ? null : (
        <text class="state-figures" x={below.x} y={below.y} font-size={labelSize}>
          {figures}
        </text>
      )}
    </>
  );
}

/** @param of the arrow's transitions that were taken; null when none was. */
function Arrow({ edge, of }: { edge: ChartEdge; of: readonly number[] | null }): JSX.Element {
  const [start] = edge.points;
  const places = labelPlaces(edge);
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a group of SVG takes no focus, and the table below tells the same
    <g class={of === null ? 'arrow' : 'arrow is-taken'} aria-hidden="true">
      {edge.from === null && start !== undefined ? (
        <circle class="arrow-mark" cx={start[0]} cy={start[1] - markRadius} r={markRadius} />
      ) : null}
      <path class="arrow-line" d={linePath(edge.points)} pathLength={1} />
      <polygon class="arrow-head" points={arrowHead(edge.points)} />
      {edge.lines.map((line, index) => (
        <text
          key={`${index} ${line.text}`}
          class={
            of !== null && line.of.some((one) => of.includes(one)) ? 'arrow-text is-taken' : 'arrow-text'
          }
          x={places[index]?.x}
          y={places[index]?.y}
          font-size={labelSize}
        >
          {line.text}
        </text>
      ))}
    </g>
  );
}
