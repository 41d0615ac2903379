import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from '../components/icons.tsx';
import { isSigningIn, refusalText, signIn, signOutReason } from '../session.ts';
import { Logo } from './logo.tsx';

/** The page of a reader without a session. */
// Over 60 lines: its markup stays in one piece.
export function SignIn(): JSX.Element {
  const problem = useSignal<string | null>(null);
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
    problem.value = null;
    try {
      await signIn(key);
    } catch (error) {
      problem.value = refusalText(error);
      input.current?.focus();
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
        <button type="submit" class="button primary" disabled={isSigningIn.value}>
          {isSigningIn.value ? 'Signing in …' : 'Sign in'}
        </button>
        <p class="hint">
          The coordinator prints a link that signs you in when it starts. The first key is in{' '}
          <code>admin.key</code> in its data folder. This page does not store the key: it creates a session
          with it, which your open tabs share and which ends when you sign out.
        </p>
      </form>
    </main>
  );
}
