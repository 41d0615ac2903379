/** The part of a long list that is drawn. */
export interface RowWindow {
  /** First row drawn, and the one after the last. */
  from: number;
  to: number;
  /** Height of the rows before and after, px: they keep the scrollbar as if all were there. */
  before: number;
  after: number;
}

/**
 * Which rows of a list with rows of one height stand within a view, and some more on both sides so that a quick scroll
 * meets no emptiness. Sizes in px.
 * @param scrollTop how far the view's upper edge is below the list's; negative before the list begins.
 */
export function rowWindow(options: {
  count: number;
  rowHeight: number;
  scrollTop: number;
  viewHeight: number;
  /** Rows more on each side. */
  margin: number;
}): RowWindow {
  const { count, rowHeight, scrollTop, viewHeight, margin } = options;
  const first = Math.floor(scrollTop / rowHeight) - margin;
  const last = Math.ceil((scrollTop + viewHeight) / rowHeight) + margin;
  const from = Math.min(Math.max(0, first), count);
  const to = Math.max(from, Math.min(count, last));
  return { from, to, before: from * rowHeight, after: (count - to) * rowHeight };
}
