import type { JSX } from 'preact';
import type { BreakdownName } from '../../../domain/costReport.ts';
import { TableHead } from '../../components/tableHead.tsx';
import { count } from '../../components/text.ts';
import { href } from '../../router.ts';
import { type ShownLine, sumText } from './report.ts';

const columns = [
  { title: 'Cost', isEnd: true },
  { title: 'Share' },
  { title: 'Jobs', isEnd: true },
  { title: 'Attempts', isEnd: true },
  { title: 'Tokens in', isEnd: true },
  { title: 'Tokens out', isEnd: true },
];

/** The breakdown, the most expensive first, each with its share of the total. */
export function Breakdown({ lines, by }: { lines: readonly ShownLine[]; by: BreakdownName }): JSX.Element {
  return (
    <table class="table stacked">
      <TableHead
        caption={`Cost by ${by}`}
        columns={[{ title: `${by[0]?.toUpperCase()}${by.slice(1)}` }, ...columns]}
      />
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
