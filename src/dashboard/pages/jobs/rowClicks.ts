import { go } from '../../router.ts';

/** What does something of its own when it is pressed. */
const controls = 'a, button, input, label, .check-cell';

/**
 * Have a press anywhere in a row do what its link does: open it, or with Ctrl, Command or the middle button in a tab of its
 * own. A text that is selected by dragging opens nothing. For the keyboard there is the link. @returns what ends it.
 */
export function openRowsIn(body: HTMLElement): () => void {
  const onClick = (event: MouseEvent): void => {
    const link = linkOf(event);
    if (link === null || event.shiftKey || event.altKey || hasSelectionIn(body)) return;
    if (event.button === 1 || event.ctrlKey || event.metaKey) window.open(link.href, '_blank', 'noopener');
    else if (event.button === 0) go(link.pathname + link.search);
  };
  // The middle button would begin to scroll.
  const onDown = (event: MouseEvent): void => {
    if (event.button === 1 && linkOf(event) !== null) event.preventDefault();
  };
  body.addEventListener('click', onClick);
  body.addEventListener('auxclick', onClick);
  body.addEventListener('mousedown', onDown);
  return () => {
    body.removeEventListener('click', onClick);
    body.removeEventListener('auxclick', onClick);
    body.removeEventListener('mousedown', onDown);
  };
}

/** The link of the row that is pressed; null on what is a control itself. */
function linkOf({ target }: MouseEvent): HTMLAnchorElement | null {
  if (!(target instanceof Element) || target.closest(controls) !== null) return null;
  return target.closest('tr')?.querySelector('a') ?? null;
}

function hasSelectionIn(body: HTMLElement): boolean {
  const selection = window.getSelection();
  return selection !== null && !selection.isCollapsed && selection.containsNode(body, true);
}
