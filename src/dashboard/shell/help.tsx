import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { Dialog } from '../components/dialog.tsx';
import { hasShortcuts } from './preferences.ts';
import { shortcuts } from './shortcuts.ts';

export const isHelpOpen = signal(false);

/** The list of the current shortcuts, and the switch for them. */
export function Help(): JSX.Element | null {
  if (!isHelpOpen.value) return null;
  const seen = new Map(shortcuts.value.map((shortcut) => [shortcut.keys, shortcut.label]));
  // Actions of this page first, then the pages, whose shortcuts have two keys.
  const ordered = [...seen].sort(([a], [b]) => a.split(' ').length - b.split(' ').length);
  return (
    <Dialog
      title="Keyboard"
      onClose={() => {
        isHelpOpen.value = false;
      }}
    >
      <dl class="shortcut-list">
        <div>
          <dt>
            <kbd>Ctrl</kbd> <kbd>K</kbd>
          </dt>
          <dd>Go to a page, a worker, a provider or a job, or do something</dd>
        </div>
        {ordered.map(([keys, label]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={hasShortcuts.value}
          onChange={(event) => {
            hasShortcuts.value = event.currentTarget.checked;
          }}
        />
        Use shortcuts of one key
      </label>
    </Dialog>
  );
}
