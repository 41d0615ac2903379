import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ApiError } from '../../../client/errors.ts';
import type { WireRouteExplanation } from '../../../domain/wire/routing.ts';
import { Button } from '../../components/button.tsx';
import { Icon } from '../../components/icons.tsx';
import { Card, Page } from '../../components/page.tsx';
import { useLoaded } from '../../components/resource.ts';
import { Empty, Failure, Loading } from '../../components/states.tsx';
import { explain, notify } from '../../components/toasts.tsx';
import { useWorkers } from '../../live/store.ts';
import { go, href, place } from '../../router.ts';
import { api, may } from '../../session.ts';
import {
  bodyOf,
  type Draft,
  type DraftField,
  draftOf,
  emptyDraft,
  newIdempotencyKey,
  type Problems,
  problemsOf,
} from './draft.ts';
import { Explanation } from './explanation.tsx';
import { Field } from './field.tsx';
import { suggestionsOf } from './suggestions.ts';

/** Write and send a job, from scratch or from another one. */
export function NewJob(): JSX.Element {
  const from = place.value.query.get('from');
  const { loaded, reload } = useLoaded(from ?? '', async () =>
    from === null ? emptyDraft : draftOf(await api.peek().job(from)),
  );
  const { data, error } = loaded.value;
  if (!may('client')) {
    return (
      <Page title="New job">
        <Empty icon="keys" title="Your key can read, but not create jobs">
          <p>An admin can create one with the role client.</p>
        </Empty>
      </Page>
    );
  }
  if (data === null) {
    return (
      <Page title="New job">
        {error === null ? <Loading lines={9} /> : <Failure error={error} retry={reload} />}
        {error === null ? null : <a href={href('/jobs/new')}>Write one from nothing</a>}
      </Page>
    );
  }
  return <Form key={from} start={data} from={from} />;
}

// Over 60 lines: one form with all of its fields, whose signals the handlers share.
function Form({ start, from }: { start: Draft; from: string | null }): JSX.Element {
  const draft = useSignal(start);
  const problems = useSignal<Problems>({});
  const explanation = useSignal<WireRouteExplanation | null>(null);
  const ownKey = useSignal('');
  const place = useRef<HTMLFormElement>(null);
  /** The last request: repeating it after a missing answer uses the same key. */
  const last = useRef<{ text: string; key: string } | null>(null);
  const workers = useWorkers();
  const { provider, isChat } = draft.value;
  const known = suggestionsOf([...(workers.value?.values() ?? [])], provider.trim());
  useEffect(() => {
    place.current?.querySelector('textarea')?.focus();
  }, []);
  const change = (changes: Partial<Draft>): void => {
    draft.value = { ...draft.peek(), ...changes };
    explanation.value = null;
    const left = { ...problems.peek() };
    for (const name of Object.keys(changes)) delete left[name as DraftField];
    problems.value = left;
  };
  const attempt = async (run: (body: ReturnType<typeof bodyOf>['body']) => Promise<void>): Promise<void> => {
    const { body, problems: found } = bodyOf(draft.peek());
    problems.value = found;
    if (Object.keys(found).length === 0) {
      try {
        await run(body);
      } catch (error) {
        problems.value =
          error instanceof ApiError ? problemsOf(error.detail, error.errors) : { form: explain(error) };
      }
    }
    requestAnimationFrame(() => {
      const first = place.current?.querySelector('[aria-invalid="true"]');
      if (first instanceof HTMLElement) first.focus();
    });
  };
  const send = (): Promise<void> =>
    attempt(async (body) => {
      const text = JSON.stringify(body);
      const given = ownKey.peek().trim();
      const key =
        given !== ''
          ? given
          : last.current?.text === text
            ? last.current.key
            : newIdempotencyKey((bytes) => crypto.getRandomValues(bytes));
      last.current = { text, key };
      const job = await api.peek().dispatch(body, { idempotencyKey: key });
      notify('The job is in the queue');
      go(href(`/jobs/${job.id}`));
    });
  const preview = (): Promise<void> =>
    attempt(async (body) => {
      explanation.value = await api.peek().explainRoute(body);
    });
  const field = (
    name: DraftField,
    label: string,
    more: { hint?: string; options?: readonly string[]; lines?: number; isCode?: boolean } = {},
  ): JSX.Element => (
    <Field
      name={name}
      label={label}
      value={draft.value[name]}
      problem={problems.value[name]}
      onInput={(text) => change({ [name]: text })}
      {...more}
    />
  );
  return (
    <Page title={from === null ? 'New job' : 'New job from another'}>
      <form
        ref={place}
        class="new-job"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void send();
        }}
      >
        <Card title="What it says">
          <div class="form-fields">
            <fieldset class="segments">
              <legend class="visually-hidden">Form</legend>
              {[false, true].map((chat) => (
                <label key={String(chat)}>
                  <input
                    type="radio"
                    name="form"
                    checked={isChat === chat}
                    onChange={() => change({ isChat: chat })}
                  />
                  {chat ? 'Messages' : 'Prompt'}
                </label>
              ))}
            </fieldset>
            {isChat
              ? field('messages', 'Messages', {
                  lines: 9,
                  isCode: true,
                  hint: 'A list of {role, content}, as JSON.',
                })
              : field('prompt', 'Prompt', { lines: 6 })}
            {field('input', 'Input', {
              lines: 5,
              hint: 'The text that the prompt is about. Optional.',
            })}
          </div>
        </Card>
        <div class="job-column">
          <Card title="Where it runs">
            <div class="form-fields pairs">
              {field('provider', 'Provider', {
                options: known.providers,
                hint: 'Empty: routing decides.',
              })}
              {field('model', 'Model', { options: known.models, hint: 'Empty: the provider’s default.' })}
              {field('priority', 'Priority', { options: ['critical', 'high', 'normal', 'low'] })}
              {field('tier', 'Tier')}
            </div>
          </Card>
          <Card title="More">
            <div class="form-fields">
              {field('tags', 'Tags', { hint: 'Separated by commas.' })}
              {field('params', 'Parameters', {
                lines: 3,
                isCode: true,
                hint: 'JSON, passed on to the model: {"temperature": 0.2}',
              })}
              {field('timeout', 'Timeout, seconds')}
              <details>
                <summary>Metadata and idempotency</summary>
                <div class="form-fields">
                  {field('metadata', 'Metadata', {
                    lines: 2,
                    isCode: true,
                    hint: 'name=value, a line each.',
                  })}
                  <label class="field">
                    Idempotency key
                    <input
                      type="text"
                      maxLength={200}
                      value={ownKey.value}
                      placeholder="made for you"
                      onInput={({ currentTarget }) => (ownKey.value = currentTarget.value)}
                    />
                    <span class="hint">The same key and job within a day answer with the first job.</span>
                  </label>
                </div>
              </details>
            </div>
          </Card>
        </div>
        <div class="form-end">
          <div role="alert">
            {problems.value.form === undefined ? null : (
              <p class="form-problem">
                <Icon name="warning" />
                {problems.value.form}
              </p>
            )}
          </div>
          {may('operator') ? (
            <Button icon="info" onClick={preview}>
              Preview routing
            </Button>
          ) : null}
          <Button kind="primary" icon="right" onClick={send} title="Ctrl Enter">
            Send the job
          </Button>
        </div>
      </form>
      {explanation.value === null ? null : <Explanation of={explanation.value} />}
    </Page>
  );
}
