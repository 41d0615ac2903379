import type { JSX } from 'preact';
import type { BreakdownName } from '../../../domain/costReport.ts';
import { count } from '../../components/text.ts';
import { href } from '../../router.ts';
import { type ShownLine, sumText } from './report.ts';

/** What was spent on each, the dearest first, with its share of the whole. */
export function Breakdown({ lines, by }: { lines: readonly ShownLine[]; by: BreakdownName }): JSX.Element {
  return (
    <table class="table stacked">
      <caption class="visually-hidden">Cost by {by}</caption>
      <thead>
        <tr>
          <th>{by[0]?.toUpperCase() + by.slice(1)}</th>
          <th class="end">Cost</th>
          <th>Share</th>
          <th class="end">Jobs</th>
          <th class="end">Attempts</th>
          <th class="end">Tokens in</th>
          <th class="end">Tokens out</th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <tr key={`${line.name} ${line.detail}`}>
            <td class="main-cell">
              {line.list === null ? (
                <span class="faint">{line.name}</span>
              ) : (
                <a href={href('/jobs', line.list)}>{line.name}</a>
              )}{' '}
              {line.detail === null ? null : <span class="faint">{line.detail}</span>}
            </td>
            <td class="end" data-label="Cost">
              {sumText(line.cost_usd, line.unknown_cost_attempts)}
            </td>
            <td data-label="Share">
              <span class="share">
                <span class="share-bar" aria-hidden="true">
                  <span style={{ width: `${Math.min(100, line.share * 100)}%` }} />
                </span>
                <span class="number">{Math.round(line.share * 100)} %</span>
              </span>
            </td>
            <td class="end" data-label="Jobs">
              {count(line.jobs)}
            </td>
            <td class="end" data-label="Attempts">
              {count(line.attempts)}
            </td>
            <td class="end" data-label="Tokens in">
              {count(line.input_tokens)}
            </td>
            <td class="end" data-label="Tokens out">
              {count(line.output_tokens)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
