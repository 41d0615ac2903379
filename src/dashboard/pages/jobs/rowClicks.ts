import { go } from '../../router.ts';

/** Elements that handle clicks themselves. */
const controls = 'a, button, input, label, .check-cell';

/**
 * Make a click anywhere in a row act as on its link: open it, or with Ctrl, Command or the middle button in a new tab.
 * Selecting text by dragging opens nothing. The keyboard uses the link. @returns a function that ends it.
 */
export function openRowsIn(body: HTMLElement): () => void {
  const onClick = (event: MouseEvent): void => {
    const link = linkOf(event);
    if (link === null || event.shiftKey || event.altKey || hasSelectionIn(body)) return;
    if (event.button === 1 || event.ctrlKey || event.metaKey) window.open(link.href, '_blank', 'noopener');
    else if (event.button === 0) go(link.pathname + link.search);
  };
  // The middle button would start scrolling.
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

/** The link of the clicked row; null on a control. */
function linkOf({ target }: MouseEvent): HTMLAnchorElement | null {
  if (!(target instanceof Element) || target.closest(controls) !== null) return null;
  return target.closest('tr')?.querySelector('a') ?? null;
}

function hasSelectionIn(body: HTMLElement): boolean {
  const selection = window.getSelection();
  return selection !== null && !selection.isCollapsed && selection.containsNode(body, true);
}
