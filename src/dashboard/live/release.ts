import { type ReadonlySignal, signal } from '@preact/signals';
import { root } from '../root.ts';

const isOld = signal(false);
/** Whether the coordinator now serves another build of these pages. */
export const isOutdated: ReadonlySignal<boolean> = isOld;

/** The script of this build; its name contains the hash of its contents. */
const ownScript = document.querySelector('script[src]')?.getAttribute('src')?.split('/').pop() ?? null;

let epoch: string | null = null;

/** A greeting of the coordinator. After a restart it may be a newer version: compare the page that it serves now. */
export async function noteEpoch(greeted: string): Promise<void> {
  const before = epoch;
  epoch = greeted;
  if (before === null || before === greeted || ownScript === null) return;
  try {
    const response = await fetch(root, { headers: { accept: 'text/html' } });
    if (response.ok && !(await response.text()).includes(ownScript)) isOld.value = true;
  } catch {
    // It is gone again; the next greeting repeats this.
    epoch = before;
  }
}
