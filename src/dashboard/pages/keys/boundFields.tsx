import { type Signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { WireKey } from '../../../domain/wire/key.ts';
import { Dialog, FormActions } from '../../components/dialog.tsx';
import { api } from '../../session.ts';
import { type BoundTexts, boundsOf, textsOf } from './bounds.ts';
import { Problem } from './problem.tsx';

const fields: readonly { name: keyof BoundTexts; label: string; example: string; hint: string }[] = [
  {
    name: 'names',
    label: 'Names of its workers',
    example: 'gpu-*, box-1',
    hint: '* matches any text. Empty: any name.',
  },
  {
    name: 'tags',
    label: 'Tags',
    example: 'eu, gpu',
    hint: 'Its workers may have only these tags. Empty: any; a hyphen: none.',
  },
  {
    name: 'providers',
    label: 'Providers',
    example: 'vllm, ollama',
    hint: 'Its workers may serve only these. Empty: any.',
  },
  {
    name: 'slots',
    label: 'Slots',
    example: '8',
    hint: 'Jobs at a time, of all its connected workers together. Empty: 1,000 each.',
  },
];

/** The fields for what a key's workers may declare. */
export function BoundFields({ texts }: { texts: Signal<BoundTexts> }): JSX.Element {
  return (
    <>
      {fields.map(({ name, label, example, hint }) => (
        <label key={name} class="field">
          {label}
          <input
            type="text"
            value={texts.value[name]}
            placeholder={example}
            onInput={({ currentTarget }) => {
              texts.value = { ...texts.peek(), [name]: currentTarget.value };
            }}
          />
          <span class="hint">{hint}</span>
        </label>
      ))}
    </>
  );
}

export function BindKey(props: { of: WireKey; onBound(): void; onClose(): void }): JSX.Element {
  const texts = useSignal<BoundTexts>(textsOf(props.of));
  const problem = useSignal<string | null>(null);
  const change = async (): Promise<void> => {
    const bounds = boundsOf(texts.peek());
    if (typeof bounds === 'string') {
      problem.value = bounds;
      return;
    }
    await api.peek().changeKey(props.of.id, bounds);
    props.onBound();
  };
  const actions = <FormActions label="Change" onDo={change} problem={problem} onClose={props.onClose} />;
  return (
    <Dialog title={`Change ${props.of.name ?? 'this key'}`} actions={actions} onClose={props.onClose}>
      <p>
        It takes effect at once: workers outside the bounds are disconnected, and the others share the slots.
      </p>
      <BoundFields texts={texts} />
      <Problem text={problem.value} />
    </Dialog>
  );
}
