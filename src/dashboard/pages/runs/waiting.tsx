import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { WireRun } from '../../../domain/wire/run.ts';
import { Icon } from '../../components/icons.tsx';
import { useLoaded } from '../../components/resource.ts';
import { href } from '../../router.ts';
import { api } from '../../session.ts';
import { linkOfReason } from '../job/why.tsx';

/** A reason changes without an event; it is reloaded this often, ms. */
const againMs = 5_000;

/** Why the waiting jobs of a run wait, as one of them says it. */
export function RunWaiting({ run }: { run: WireRun }): JSX.Element | null {
  const { loaded, reload } = useLoaded(run.name, (signal) =>
    api.peek().jobs({ run: run.name, status: 'pending', limit: 1 }, signal),
  );
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden && !loaded.peek().isLoading) reload();
    }, againMs);
    return () => clearInterval(timer);
  }, [loaded, reload]);
  const waiting = loaded.value.data?.jobs[0]?.waiting ?? null;
  if (waiting === null) return null;
  const link = linkOfReason(waiting.reason, null);
  return (
    <p class="run-waiting">
      <Icon name="pending" />
      <span>
        <span class="faint">Waiting jobs: </span>
        <span dir="auto">{waiting.detail}.</span>
        {link === null || link.to === '/runs' ? null : (
          <>
            {' '}
            <a href={href(link.to)}>{link.text}</a>
          </>
        )}
      </span>
    </p>
  );
}
