import type { WireHistoryEntry } from '../../domain/wire/job.ts';
import { anyState, type Chart, type ChartEdge } from './chart.ts';

/** How often an actor entered a state, and how long it was there in total, ms. */
export interface Visits {
  count: number;
  ms: number;
}

/** A state and its ancestors, the innermost first: `pending.ready`, `pending`. */
export function withAncestors(path: string): string[] {
  const parts = path.split('.');
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('.'));
}

/**
 * The visits of each state in the first `count` entries of a history; a compound state counts entries from outside.
 * @param until epoch ms: when the last of these states was left, or now.
 */
export function visitsOf(
  entries: readonly WireHistoryEntry[],
  count: number,
  until: number,
): Map<string, Visits> {
  const visits = new Map<string, Visits>();
  const seen = entries.slice(0, count);
  for (const [index, { at, from, to }] of seen.entries()) {
    const next = seen[index + 1];
    const ms = Math.max(0, (next === undefined ? until : Date.parse(next.at)) - Date.parse(at));
    const left = new Set(from === null ? [] : withAncestors(from));
    for (const path of withAncestors(to)) {
      const known = visits.get(path) ?? { count: 0, ms: 0 };
      visits.set(path, { count: known.count + (left.has(path) ? 0 : 1), ms: known.ms + ms });
    }
  }
  return visits;
}

/** Taken arrows of a chart, by their index in `edges`, each with its transitions. */
export type Taken = ReadonlyMap<number, readonly number[]>;

export const nothingTaken: Taken = new Map();

/**
 * The arrows of a change of state: that of its event, and those that lead on to the state where it rests, through
 * initial marks and transient states.
 * @param event null: the actor was created.
 */
export function takenBy(
  chart: Chart,
  { event, from, to }: { event: string | null; from: string | null; to: string },
): Taken {
  const sources = from === null ? [null] : [...withAncestors(from), anyState];
  const goals = new Set(withAncestors(to));
  const taken = new Map<number, number[]>();
  for (const source of sources) {
    for (const [index, edge] of chart.edges.entries()) {
      const of = from === null ? [] : transitionsOn(edge, event);
      if (edge.from !== source || (from !== null && of.length === 0)) continue;
      const onward = leadOn(chart, edge.to, to, goals);
      if (onward === null || (from === null && edge.to !== chart.initial)) continue;
      taken.set(index, of);
      for (const [place, transitions] of onward) taken.set(place, transitions);
      return taken;
    }
  }
  return taken;
}

function transitionsOn({ transitions }: ChartEdge, event: string | null): number[] {
  return transitions.flatMap((transition, index) => (transition.event === event ? [index] : []));
}

/** The way from an entered state to the child where it rests; null when there is none. */
function leadOn(
  chart: Chart,
  at: string,
  to: string,
  goals: ReadonlySet<string>,
): Map<number, number[]> | null {
  if (at === to) return new Map();
  const state = chart.states.find(({ path }) => path === at);
  if (state === undefined) return null;
  for (const [index, edge] of chart.edges.entries()) {
    const isInitial =
      state.kind === 'compound' && edge.from === null && edge.to.startsWith(`${at}.`) && goals.has(at);
    const isAtOnce = state.kind === 'transient' && edge.from === at;
    if (!isInitial && !isAtOnce) continue;
    const onward = leadOn(chart, edge.to, to, goals);
    if (onward !== null) return new Map([[index, edge.transitions.map((_, place) => place)], ...onward]);
  }
  return null;
}
