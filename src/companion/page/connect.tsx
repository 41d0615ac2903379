import { useSignal } from '@preact/signals';
import type { CompanionState, ConnectionTest } from '../state.ts';
import { act } from './api.ts';

/** Address, key and name, with a test before they are saved. */
export function Connect({ now }: { now: CompanionState }) {
  const { settings } = now;
  const result = useSignal<ConnectionTest | null>(null);
  const isBusy = useSignal(false);

  const valuesOf = (form: HTMLFormElement): Record<string, string> => {
    const data = new FormData(form);
    const text = (name: string): string => String(data.get(name) ?? '').trim();
    const key = text('key');
    return { coordinator: text('coordinator'), ...(key === '' ? {} : { key }) };
  };
  const attempt = async (work: () => Promise<ConnectionTest>): Promise<void> => {
    isBusy.value = true;
    result.value = await work().catch((error: Error) => ({
      isUsable: false,
      message: error.message,
      advice: null,
    }));
    isBusy.value = false;
  };
  const save = async (form: HTMLFormElement): Promise<ConnectionTest> => {
    const values = valuesOf(form);
    const tested = await act<ConnectionTest>('test', values);
    if (!tested.isUsable) return tested;
    const name = String(new FormData(form).get('name') ?? '').trim();
    await act('settings', { ...values, ...(name === '' ? {} : { name }) });
    const key = form.elements.namedItem('key');
    if (key instanceof HTMLInputElement) key.value = '';
    return { ...tested, message: `${tested.message} Saved.` };
  };

  return (
    <section aria-labelledby="connect">
      <h2 id="connect">Coordinator</h2>
      <form
        // New values in the file, from elsewhere, fill the fields again.
        key={`${settings.coordinator} ${settings.name}`}
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          void attempt(() => save(form));
        }}
      >
        <label>
          Address
          <input name="coordinator" type="url" required defaultValue={settings.coordinator} />
        </label>
        <label>
          Key
          <input
            name="key"
            type="password"
            autocomplete="off"
            required={settings.key === null}
            placeholder={settings.key ?? 'svc_worker_…'}
          />
        </label>
        <label>
          Name of this worker
          <input name="name" defaultValue={settings.name} />
        </label>
        <div class="buttons">
          <button type="submit" disabled={isBusy.value}>
            Save
          </button>
          <button
            type="button"
            disabled={isBusy.value}
            onClick={({ currentTarget }) => {
              const { form } = currentTarget;
              if (form !== null) void attempt(() => act<ConnectionTest>('test', valuesOf(form)));
            }}
          >
            Test
          </button>
        </div>
        <output>
          {result.value !== null && (
            <p class={result.value.isUsable ? 'good' : 'problem'}>
              <strong>{result.value.message}</strong>
              {result.value.advice !== null && <span> {result.value.advice}</span>}
            </p>
          )}
        </output>
      </form>
    </section>
  );
}
