import type { JSX } from 'preact';
import type { WireJob } from '../../../domain/wire/job.ts';
import { type Phase, phasesOf } from '../../../domain/wire/jobPhases.ts';
import { humanDuration } from '../../../lib/humanTime.ts';
import { statusLabel } from '../../components/badge.tsx';
import { Card } from '../../components/page.tsx';
import { now } from '../../live/clock.ts';

/** The smallest width of a phase, percent: a short one must be visible. */
const widthMin = 0.8;

/** When the job waited and when it ran, to scale, and in words. */
export function Timeline({ job }: { job: WireJob }): JSX.Element {
  const phases = phasesOf(job, job.finished_at === null ? now.value : 0);
  const first = phases[0]?.from ?? 0;
  const span = Math.max(1, ...phases.map(({ to }) => to - first));
  const place = ({ from, to }: Phase) => ({
    left: `${((from - first) / span) * 100}%`,
    width: `${Math.max(widthMin, ((to - from) / span) * 100)}%`,
  });
  return (
    <Card title="Timeline" beside={<span class="faint number">{humanDuration(span)}</span>}>
      <div class="timeline" aria-hidden="true">
        {phases.map((phase) => (
          <span
            key={`${phase.kind} ${phase.from}`}
            class={`phase ${phase.kind} tone-${toneOf(phase)}${phase.isOpen ? ' open' : ''}`}
            style={place(phase)}
            title={wordsOf(phase)}
          />
        ))}
      </div>
      <ol class="phases">
        {phases.map((phase) => (
          <li key={`${phase.kind} ${phase.from}`} class={`tone-${toneOf(phase)}`}>
            <span class={`phase-mark ${phase.kind}`} aria-hidden="true" />
            <span>{wordsOf(phase)}</span>
            <span class="number">{humanDuration(phase.to - phase.from)}</span>
          </li>
        ))}
      </ol>
    </Card>
  );
}

function toneOf({ kind, attempt, isOpen }: Phase): string {
  if (kind === 'wait' || attempt === null) return 'info';
  if (isOpen || attempt.outcome === null) return 'active';
  if (attempt.outcome === 'completed') return 'good';
  return attempt.outcome === 'failed' || attempt.outcome === 'timed_out' ? 'bad' : 'warn';
}

function wordsOf({ kind, attempt, isOpen }: Phase): string {
  if (kind === 'wait' || attempt === null) return isOpen ? 'Waiting' : 'Waited';
  const outcome = isOpen ? 'running' : statusLabel(attempt.outcome ?? 'running').toLowerCase();
  return `Attempt ${attempt.number} on ${attempt.provider}: ${outcome}`;
}
