/** The rendered part of a long list. */
export interface RowWindow {
  /** First rendered row, and the one after the last. */
  from: number;
  to: number;
  /** Height of the rows before and after, px: they give the scrollbar the size of the whole list. */
  before: number;
  after: number;
}

/**
 * The rows of equal height within a view, plus a margin on both sides so that quick scrolling shows no gaps. Sizes in
 * px.
 * @param scrollTop how far the view's upper edge is below the list's; negative before the list begins.
 */
export function rowWindow(options: {
  count: number;
  rowHeight: number;
  scrollTop: number;
  viewHeight: number;
  /** Extra rows on each side. */
  margin: number;
}): RowWindow {
  const { count, rowHeight, scrollTop, viewHeight, margin } = options;
  const first = Math.floor(scrollTop / rowHeight) - margin;
  const last = Math.ceil((scrollTop + viewHeight) / rowHeight) + margin;
  const from = Math.min(Math.max(0, first), count);
  const to = Math.max(from, Math.min(count, last));
  return { from, to, before: from * rowHeight, after: (count - to) * rowHeight };
}
