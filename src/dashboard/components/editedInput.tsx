import type { InputHTMLAttributes, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/**
 * A field whose text counts when it is left, on `onChange`. It shows `value` when that changes, and keeps what is being typed
 * when the page around it is drawn again: with `value` on a plain input, each live event would take back unfinished text.
 */
export function EditedInput({
  value,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { value: string }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    // Setting the same text again would end the editing of a date.
    if (input.current !== null && input.current.value !== value) input.current.value = value;
  }, [value]);
  return <input {...rest} ref={input} defaultValue={value} />;
}
