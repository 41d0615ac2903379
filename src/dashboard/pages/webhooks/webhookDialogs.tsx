import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { type WebhookEventType, webhookEvents } from '../../../domain/webhook.ts';
import type { WireNewWebhook } from '../../../domain/wire/webhook.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Dialog, FormActions } from '../../components/dialog.tsx';
import { Time } from '../../components/time.tsx';
import { api } from '../../session.ts';
import { Problem } from '../keys/problem.tsx';

// Over 60 lines: its markup stays in one piece.
export function CreateWebhook(props: { onMade(made: WireNewWebhook): void; onClose(): void }): JSX.Element {
  const name = useSignal('');
  const url = useSignal('https://');
  const tags = useSignal('');
  const events = useSignal<readonly WebhookEventType[] | null>(null);
  const problem = useSignal<string | null>(null);
  const create = async (): Promise<void> => {
    const tagList = tags
      .peek()
      .split(',')
      .map((tag) => tag.trim());
    const given = tagList.filter((tag) => tag !== '');
    const chosen = events.peek();
    props.onMade(
      await api.peek().createWebhook({
        name: name.peek().trim(),
        url: url.peek().trim(),
        events: chosen === null ? null : [...chosen],
        tags: given.length === 0 ? null : given,
      }),
    );
  };
  const actions = <FormActions label="Create" onDo={create} problem={problem} onClose={props.onClose} />;
  return (
    <Dialog title="Create a webhook" actions={actions} onClose={props.onClose}>
      <label class="field">
        Name
        <input
          type="text"
          maxLength={200}
          value={name.value}
          placeholder="ops"
          onInput={({ currentTarget }) => (name.value = currentTarget.value)}
        />
        <span class="hint">Jobs and batches can name it.</span>
      </label>
      <label class="field">
        URL
        <input
          type="url"
          value={url.value}
          onInput={({ currentTarget }) => (url.value = currentTarget.value)}
        />
      </label>
      <fieldset class="choices">
        <legend>Events</legend>
        <label class="choice">
          <input
            type="checkbox"
            checked={events.value === null}
            onChange={({ currentTarget }) => (events.value = currentTarget.checked ? null : [])}
          />
          <strong>All</strong>
        </label>
        {events.value === null ? null : (
          <EventChoices chosen={events.value} onChange={(next) => (events.value = next)} />
        )}
      </fieldset>
      <label class="field">
        Tags
        <input
          type="text"
          value={tags.value}
          placeholder="nightly, private"
          onInput={({ currentTarget }) => (tags.value = currentTarget.value)}
        />
        <span class="hint">Only events of jobs with one of these tags. Empty: all events.</span>
      </label>
      <Problem text={problem.value} />
    </Dialog>
  );
}

function EventChoices(props: {
  chosen: readonly WebhookEventType[];
  onChange(chosen: readonly WebhookEventType[]): void;
}): JSX.Element {
  return (
    <>
      {webhookEvents.map((event) => (
        <label key={event} class="choice">
          <input
            type="checkbox"
            checked={props.chosen.includes(event)}
            onChange={({ currentTarget }) => {
              const others = props.chosen.filter((one) => one !== event);
              props.onChange(currentTarget.checked ? [...others, event] : others);
            }}
          />
          {event}
        </label>
      ))}
    </>
  );
}

/** The secret, shown once. */
export function ShowWebhookSecret({ of, onClose }: { of: WireNewWebhook; onClose(): void }): JSX.Element {
  const actions = (
    <Button kind="primary" onClick={onClose}>
      I have kept it
    </Button>
  );
  return (
    <Dialog title={`The secret of ${of.name}`} actions={actions} onClose={onClose}>
      <p class="held tone-warn">
        <span>Shown this once. The receiver verifies messages with it.</span>
      </p>
      <div class="secret">
        <code>{of.secret}</code>
        <CopyButton text={of.secret} label="Copy the secret" />
      </div>
      {of.previous_secret_until === null ? null : (
        <p class="hint">
          The old secret signs too until <Time at={of.previous_secret_until} />.
        </p>
      )}
    </Dialog>
  );
}
