import type { JSX } from 'preact';

/** Three lines that merge into one: the mark of the page. */
export function Logo(): JSX.Element {
  return (
    <span class="logo">
      <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
        <rect width="32" height="32" rx="7" />
        <path d="M8 10h7M8 16h7M8 22h7M15 10c5 0 4 6 9 6M15 22c5 0 4-6 9-6M15 16h9" />
      </svg>
      SVC
    </span>
  );
}
