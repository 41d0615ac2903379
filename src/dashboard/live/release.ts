import { type ReadonlySignal, signal } from '@preact/signals';
import { root } from '../root.ts';

const isOld = signal(false);
/** Whether the coordinator serves another build of these pages by now. */
export const isOutdated: ReadonlySignal<boolean> = isOld;

/** The script of this very build; its name has the hash of what is in it. */
const ownScript = document.querySelector('script[src]')?.getAttribute('src')?.split('/').pop() ?? null;

let epoch: string | null = null;

/** The coordinator has greeted. After a restart it may be a newer one: look at the page that it serves now. */
export async function noteEpoch(heard: string): Promise<void> {
  const before = epoch;
  epoch = heard;
  if (before === null || before === heard || ownScript === null) return;
  try {
    const response = await fetch(root, { headers: { accept: 'text/html' } });
    if (response.ok && !(await response.text()).includes(ownScript)) isOld.value = true;
  } catch {
    // It has gone again; its next greeting asks again.
    epoch = before;
  }
}
