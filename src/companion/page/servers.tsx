import { useSignal } from '@preact/signals';
import type { CompanionState } from '../state.ts';
import { act } from './api.ts';

/** Names for people; others are shown as they are. */
const titles: Readonly<Record<string, string>> = {
  ollama: 'Ollama',
  lmstudio: 'LM Studio',
  llamacpp: 'llama.cpp',
  vllm: 'vLLM',
};
const modelsShownMax = 5;

/** The model servers of this machine, and which of them the worker serves. */
export function Servers({ now }: { now: CompanionState }) {
  const problem = useSignal<string | null>(null);
  const { providers } = now.settings;
  const choose = (name: string, isWanted: boolean): void => {
    const others = providers.filter((one) => one !== name);
    problem.value = null;
    act('settings', { providers: isWanted ? [...others, name] : others }).catch((error: Error) => {
      problem.value = error.message;
    });
  };
  return (
    <section aria-labelledby="servers">
      <h2 id="servers">Model servers</h2>
      <ul>
        {now.servers.map(({ name, isServed, models }) => (
          <li key={name}>
            <label>
              <input
                type="checkbox"
                checked={isServed}
                disabled={models === null && !isServed}
                onChange={({ currentTarget }) => choose(name, currentTarget.checked)}
              />{' '}
              {titles[name] ?? name}
            </label>{' '}
            <span class="faint">{modelsText(models)}</span>
          </li>
        ))}
      </ul>
      {problem.value !== null && <p role="alert">{problem.value}</p>}
      <p class="faint">
        For a server at another address, or a cloud provider, add it to <code>providers</code> in the settings
        file.
      </p>
      <div class="buttons">
        <button type="button" onClick={() => void act('servers').catch(() => {})}>
          Look again
        </button>
      </div>
    </section>
  );
}

function modelsText(models: string[] | null): string {
  if (models === null) return 'does not answer';
  const more = models.length > modelsShownMax ? ` and ${models.length - modelsShownMax} more` : '';
  return `${models.slice(0, modelsShownMax).join(', ')}${more}`;
}
