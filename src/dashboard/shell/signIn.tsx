import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ApiError } from '../../client/errors.ts';
import { Icon } from '../components/icons.tsx';
import { explain } from '../components/toasts.tsx';
import { signIn, signOutReason } from '../session.ts';
import { Logo } from './logo.tsx';

/** The page of a reader without a key. */
export function SignIn(): JSX.Element {
  const problem = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = 'Sign in · SVC';
    input.current?.focus();
  }, []);
  const submit = async (): Promise<void> => {
    const key = input.current?.value.trim() ?? '';
    if (key === '') {
      problem.value = 'Enter a key first.';
      return;
    }
    isBusy.value = true;
    problem.value = null;
    try {
      await signIn(key);
    } catch (error) {
      problem.value = refusalText(error);
      input.current?.focus();
    } finally {
      isBusy.value = false;
    }
  };
  const said = problem.value ?? signOutReason.value;
  return (
    <main class="sign-in">
      <form
        class="sign-in-card"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Logo />
        <h1>Sign in</h1>
        <label class="field">
          <span>API key</span>
          <input
            ref={input}
            type="password"
            name="key"
            autocomplete="off"
            spellcheck={false}
            placeholder="svc_…"
            aria-invalid={problem.value !== null}
            aria-describedby={said === null ? undefined : 'sign-in-problem'}
          />
        </label>
        {said === null ? null : (
          <p id="sign-in-problem" class="form-problem" role="alert">
            <Icon name="warning" />
            {said}
          </p>
        )}
        <button type="submit" class="button primary" disabled={isBusy.value}>
          {isBusy.value ? 'Signing in …' : 'Sign in'}
        </button>
        <p class="hint">
          The coordinator prints a link that signs you in when it starts. The first key is in{' '}
          <code>admin.key</code> in its data folder. The key is kept by your open tabs alone and is gone when
          the last one is closed.
        </p>
      </form>
    </main>
  );
}

function refusalText(error: unknown): string {
  if (error instanceof ApiError && error.status === 401) return 'The coordinator does not know this key.';
  if (error instanceof ApiError && error.status === 403)
    return 'This key is for workers; it may not look here.';
  return explain(error);
}
