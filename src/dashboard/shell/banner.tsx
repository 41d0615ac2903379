import type { JSX } from 'preact';
import { humanDuration } from '../../lib/humanTime.ts';
import { Button } from '../components/button.tsx';
import { Icon } from '../components/icons.tsx';
import { feed } from '../live/browserFeed.ts';
import { now } from '../live/clock.ts';
import { isOutdated } from '../live/release.ts';
import { QueueBanner } from './queueSwitch.tsx';

/** Shorter breaks are not shown, ms. */
const quietMs = 1_000;

/**
 * Shows on every page that its data is out of date, that the queue is paused, or that these pages are an older version.
 */
export function Banners(): JSX.Element {
  const connection = feed.connection.value;
  const lostMs = connection.phase === 'lost' ? now.value - feed.offsetMs.value - connection.since : 0;
  return (
    <div role="status" class="banner-place">
      {connection.phase === 'lost' && lostMs > quietMs ? (
        <div class="banner tone-warn">
          <Icon name="offline" />
          <p>
            The connection to the coordinator is lost. What you see is {humanDuration(lostMs)} old.{' '}
            {connection.why ??
              (connection.retryAt === null ? 'Connecting …' : 'It is retried automatically.')}
          </p>
          <Button kind="quiet" onClick={() => feed.retryNow()}>
            Try now
          </Button>
        </div>
      ) : null}
      <QueueBanner />
      {isOutdated.value ? (
        <div class="banner tone-info">
          <Icon name="info" />
          <p>The coordinator has a newer version of these pages.</p>
          <Button kind="quiet" onClick={() => window.location.reload()}>
            Reload
          </Button>
        </div>
      ) : null}
    </div>
  );
}

/** A mark in the corner: whether the page is live. */
export function LiveMark(): JSX.Element {
  const { phase } = feed.connection.value;
  const text = phase === 'live' ? 'Live' : phase === 'lost' ? 'Offline' : 'Connecting';
  return (
    <span class={`live-mark ${phase}`} title={phase === 'live' ? 'Changes appear as they happen' : text}>
      <span class="live-dot" aria-hidden="true" />
      {text}
    </span>
  );
}
