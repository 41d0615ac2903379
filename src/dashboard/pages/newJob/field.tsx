import type { JSX } from 'preact';
import { useId } from 'preact/hooks';

/** A field with its label, a hint, and its error. With `lines` it has several lines. */
export function Field(props: {
  name: string;
  label: string;
  value: string;
  problem: string | undefined;
  hint?: string;
  /** Suggestions; other values are allowed. */
  options?: readonly string[];
  lines?: number;
  isCode?: boolean;
  onInput(text: string): void;
}): JSX.Element {
  const { name, label, value, problem, hint, options, lines, isCode = false } = props;
  const id = useId();
  const about = problem === undefined && hint === undefined ? undefined : `${id}-about`;
  const common = {
    id,
    name,
    value,
    class: isCode ? 'mono' : undefined,
    spellcheck: !isCode,
    'aria-invalid': problem !== undefined,
    'aria-describedby': about,
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {lines === undefined ? (
        <input
          {...common}
          type="text"
          autocomplete="off"
          list={options === undefined ? undefined : `${id}-options`}
          onInput={({ currentTarget }) => props.onInput(currentTarget.value)}
        />
      ) : (
        <textarea
          {...common}
          rows={lines}
          dir="auto"
          onInput={({ currentTarget }) => props.onInput(currentTarget.value)}
        />
      )}
      {options === undefined ? null : (
        <datalist id={`${id}-options`}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
      {about === undefined ? null : (
        <span id={about} class={problem === undefined ? 'hint' : 'form-problem'}>
          {problem === undefined ? hint : `${label} ${problem}`}
        </span>
      )}
    </div>
  );
}
