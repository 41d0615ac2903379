import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { CopyButton } from '../../components/copy.tsx';
import { Card, Page } from '../../components/page.tsx';
import { useWorkers } from '../../live/store.ts';
import { baseUrl, commandLine } from '../../root.ts';
import { href, place } from '../../router.ts';
import { may, sessionKey } from '../../session.ts';
import {
  cliCommands,
  curlCommand,
  fetchCode,
  keyPlaceholder,
  providerGuides,
  rateLimitSetting,
  workerCommand,
} from './commands.ts';

const installed = commandLine.startsWith('npx')
  ? 'On any machine that reaches this address and has Node; npx installs the rest.'
  : 'In a clone of SVC after npm ci, on any machine that reaches this address.';

/** How to reach this coordinator, with commands to copy. */
// Over 60 lines: its markup stays in one piece.
export function Connect(): JSX.Element {
  const hasKey = useSignal(false);
  const workers = useWorkers();
  const asked = place.value.query.get('provider');
  const [first] = providerGuides;
  const guide = providerGuides.find(({ name }) => name === asked) ?? first;
  const key = hasKey.value ? sessionKey() : null;
  const target = { url: baseUrl, key, svc: commandLine };
  const connected = [...(workers.value?.values() ?? [])].filter((worker) => worker.connected);
  const serving = connected.filter(({ providers }) => providers.includes(guide?.name ?? ''));
  return (
    <Page title="Connect">
      <div class="card connect-key">
        <p>
          Everything below speaks to <code>{baseUrl}</code>.{' '}
          {may('admin') ? (
            <>
              Replace <code>{keyPlaceholder}</code> by a key: give each worker and program{' '}
              <a href={href('/keys')}>one of its own</a>.
            </>
          ) : (
            <>
              Replace <code>{keyPlaceholder}</code> by a key; an admin creates one for each worker and
              program.
            </>
          )}
        </p>
        <label class="check">
          <input
            type="checkbox"
            checked={hasKey.value}
            onChange={({ currentTarget }) => {
              hasKey.value = currentTarget.checked;
            }}
          />
          Show the key of this session in the commands
        </label>
        {key === null ? null : (
          <p class="hint">
            It stops working when you sign out, and after 30 days at most. Use it to try a command; give
            workers and programs keys of their own.
          </p>
        )}
      </div>
      {guide === undefined ? null : (
        <Card
          title="A worker"
          beside={
            <span class="faint" role="status">
              {serving.length === 0
                ? 'none is connected for this provider'
                : `connected: ${serving.map(({ name }) => name).join(', ')}`}
            </span>
          }
        >
          <nav class="tabs" aria-label="Provider">
            {providerGuides.map(({ name, label }) => (
              <a
                key={name}
                href={href('/connect', { provider: name })}
                aria-current={name === guide.name ? 'page' : undefined}
              >
                {label}
              </a>
            ))}
          </nav>
          <div class="command-line">
            <p>{guide.hint}</p>
            <CopyButton text={workerCommand(guide, target)} />
          </div>
          <Command text={workerCommand(guide, target)} label="worker" />
          <p class="hint">
            {installed} It dials out, so it needs no open port. A provider’s 429 fails its job until the
            coordinator’s configuration has <code>{rateLimitSetting}</code>, which makes it wait.
            {key !== null && !may('admin')
              ? ' The key of this session does not connect workers: they need one of the role worker.'
              : ''}
          </p>
        </Card>
      )}
      <div class="connect-columns">
        <Card title="A job with curl" beside={<CopyButton text={curlCommand(baseUrl, key)} />}>
          <Command text={curlCommand(baseUrl, key)} label="curl" />
        </Card>
        <Card title="The command line" beside={<CopyButton text={cliCommands(target)} />}>
          <Command text={cliCommands(target)} label="command line" />
        </Card>
        <Card title="From a program" class="wide" beside={<CopyButton text={fetchCode(baseUrl)} />}>
          <Command text={fetchCode(baseUrl)} label="program" />
          <p class="hint">
            <code>GET /api/openapi.json</code> describes every route.
          </p>
        </Card>
      </div>
    </Page>
  );
}

function Command({ text, label }: { text: string; label: string }): JSX.Element {
  return (
    <section aria-label={`Command: ${label}`}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard (WCAG 2.1.1). */}
      <pre class="text-block" tabIndex={0}>
        {text}
      </pre>
    </section>
  );
}
