import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { type Role, roles } from '../../../domain/key.ts';
import type { WireKey, WireNewKey } from '../../../domain/wire/key.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Dialog, FormActions } from '../../components/dialog.tsx';
import { Time } from '../../components/time.tsx';
import { now } from '../../live/clock.ts';
import { api } from '../../session.ts';
import { BoundFields } from './boundFields.tsx';
import { type BoundTexts, boundsOf, noBounds } from './bounds.ts';
import { graces, lifetimes, rolePurposes } from './keyTexts.ts';
import { Problem } from './problem.tsx';

const dayMs = 86_400_000;

// Over 60 lines: its markup stays in one piece.
export function CreateKey(props: { onMade(key: WireNewKey): void; onClose(): void }): JSX.Element {
  const role = useSignal<Role>('worker');
  const name = useSignal('');
  const days = useSignal<number | null>(null);
  const texts = useSignal<BoundTexts>(noBounds);
  const problem = useSignal<string | null>(null);
  const create = async (): Promise<void> => {
    const given = name.peek().trim();
    const life = days.peek();
    const bounds = role.peek() === 'worker' ? boundsOf(texts.peek()) : {};
    if (typeof bounds === 'string') {
      problem.value = bounds;
      return;
    }
    const made = await api.peek().createKey({
      role: role.peek(),
      ...bounds,
      ...(given === '' ? {} : { name: given }),
      ...(life === null ? {} : { expires_at: new Date(now.peek() + life * dayMs).toISOString() }),
    });
    props.onMade(made);
  };
  const actions = <FormActions label="Create" onDo={create} problem={problem} onClose={props.onClose} />;
  return (
    <Dialog title="Create a key" actions={actions} onClose={props.onClose}>
      <label class="field">
        Name
        <input
          type="text"
          maxLength={200}
          value={name.value}
          placeholder="gpu-box-1"
          onInput={({ currentTarget }) => (name.value = currentTarget.value)}
        />
        <span class="hint">Who will use it, to recognise it later.</span>
      </label>
      <fieldset class="choices">
        <legend>Role</legend>
        {roles.map((one) => (
          <label key={one} class="choice">
            <input
              type="radio"
              name="role"
              value={one}
              checked={role.value === one}
              onChange={() => (role.value = one)}
            />
            <span>
              <strong>{one}</strong> <span class="hint">{rolePurposes[one]}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {role.value === 'worker' ? (
        <details>
          <summary>Bounds of its workers</summary>
          <BoundFields texts={texts} />
        </details>
      ) : null}
      <label class="field">
        It ends
        <select
          value={String(days.value)}
          onChange={({ currentTarget }) => {
            days.value = lifetimes.find((one) => String(one.days) === currentTarget.value)?.days ?? null;
          }}
        >
          {lifetimes.map((one) => (
            <option key={one.label} value={String(one.days)}>
              {one.label}
            </option>
          ))}
        </select>
      </label>
      <Problem text={problem.value} />
    </Dialog>
  );
}

export function RotateKey(props: {
  of: WireKey;
  onMade(key: WireNewKey): void;
  onClose(): void;
}): JSX.Element {
  const grace = useSignal(86_400);
  const problem = useSignal<string | null>(null);
  const rotate = async (): Promise<void> => {
    props.onMade(await api.peek().rotateKey(props.of.id, grace.peek()));
  };
  const actions = <FormActions label="Rotate" onDo={rotate} problem={problem} onClose={props.onClose} />;
  return (
    <Dialog title={`Rotate ${props.of.name ?? 'this key'}`} actions={actions} onClose={props.onClose}>
      <p>It gets a new secret, shown once. Replace the old one wherever the key is used before it expires.</p>
      <label class="field">
        The old secret is taken for
        <select
          value={String(grace.value)}
          onChange={({ currentTarget }) => (grace.value = Number(currentTarget.value))}
        >
          {graces.map(({ seconds, label }) => (
            <option key={seconds} value={String(seconds)}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <Problem text={problem.value} />
    </Dialog>
  );
}

/** The secret, shown once. */
export function ShowSecret({ of, onClose }: { of: WireNewKey; onClose(): void }): JSX.Element {
  const actions = (
    <Button kind="primary" onClick={onClose}>
      I have kept it
    </Button>
  );
  return (
    <Dialog title={`The key ${of.name ?? ''}`} actions={actions} onClose={onClose}>
      <p class="held tone-warn">
        <span>Shown this once: the coordinator keeps only a hash of it. Copy it to where it is used.</span>
      </p>
      <div class="secret">
        <code>{of.key}</code>
        <CopyButton text={of.key} label="Copy the key" />
      </div>
      {of.previous_valid_until === null ? null : (
        <p class="hint">
          The old secret ends <Time at={of.previous_valid_until} />.
        </p>
      )}
    </Dialog>
  );
}
