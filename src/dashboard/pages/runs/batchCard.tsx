import type { JSX } from 'preact';
import type { WireRunBatch } from '../../../domain/wire/run.ts';
import { Card } from '../../components/page.tsx';
import { count, plural } from '../../components/text.ts';
import { Time } from '../../components/time.tsx';

/** Faults of a file that are shown. */
const faultsMax = 20;

/** The part of a run that came as a file of the OpenAI API. */
export function BatchCard({ batch }: { batch: WireRunBatch }): JSX.Element {
  const { endpoint, lines, expires_at: expires, faults } = batch;
  return (
    <Card title="Batch">
      <dl class="detail-list">
        <dt>Endpoint</dt>
        <dd>
          <code>{endpoint}</code>
        </dd>
        <dt>Requests</dt>
        <dd>{lines === null ? '–' : count(lines)}</dd>
        <dt title="What has not started by then does not start any more">Window ends</dt>
        <dd>
          <Time at={expires} />
        </dd>
        <FileId title="Input file" id={batch.input_file_id} />
        <FileId title="Output file" id={batch.output_file_id} />
        <FileId title="Error file" id={batch.error_file_id} />
      </dl>
      {faults.length === 0 ? null : (
        <>
          <p class="hint">Its file has {plural(faults.length, 'fault')}, so nothing of it ran.</p>
          <ul>
            {faults.slice(0, faultsMax).map(({ line, code, message }) => (
              <li key={`${line} ${code}`}>
                {line === null ? null : <strong>Line {count(line)}: </strong>}
                <span dir="auto">{message}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </Card>
  );
}

/** As the OpenAI API calls it. */
function FileId({ title, id }: { title: string; id: string | null }): JSX.Element | null {
  if (id === null) return null;
  return (
    <>
      <dt>{title}</dt>
      <dd>
        <code>{`file-${id.replaceAll('-', '')}`}</code>
      </dd>
    </>
  );
}
