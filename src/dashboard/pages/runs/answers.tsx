import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { WireRun } from '../../../domain/wire/run.ts';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/page.tsx';
import { saveFile } from '../../components/saveFile.ts';
import { notify } from '../../components/toasts.tsx';
import { api } from '../../session.ts';

const formats = [
  { format: 'csv', label: 'CSV', type: 'text/csv', suffix: 'csv', hint: 'For a spreadsheet' },
  {
    format: 'ndjson',
    label: 'NDJSON',
    type: 'application/x-ndjson',
    suffix: 'ndjson',
    hint: 'One JSON object a line',
  },
  {
    format: 'openai',
    label: 'OpenAI batch',
    type: 'application/jsonl',
    suffix: 'openai.jsonl',
    hint: 'As the output file of its batch API',
  },
] as const;

/** The answers of a run as a file. The key is in a header, and so in no address; leaving the page ends it. */
export function Answers({ run }: { run: WireRun }): JSX.Element | null {
  const ends = useRef<AbortController | null>(null);
  useEffect(() => {
    const ours = new AbortController();
    ends.current = ours;
    return () => ours.abort();
  }, []);
  const { name, counts } = run;
  if (counts.total === 0) return null;
  const save = async ({ format, type, suffix }: (typeof formats)[number]): Promise<void> => {
    const signal = ends.current?.signal;
    const parts: string[] = [];
    try {
      for await (const part of api.peek().exportRunResults(name, format, { signal })) parts.push(part);
    } catch (error) {
      if (signal?.aborted === true) return;
      throw error;
    }
    saveFile(parts, type, `${name}.${suffix}`);
    notify(`The answers of ${name} are saved`);
  };
  const open = counts.pending + counts.running;
  return (
    <Card title="Answers">
      <p class="hint">
        One for each line, in their order{open === 0 ? '.' : '; those of open jobs are still empty.'}
      </p>
      <div class="run-formats">
        {formats.map((one) => (
          <Button key={one.format} icon="download" title={one.hint} onClick={() => save(one)}>
            {one.label}
          </Button>
        ))}
      </div>
    </Card>
  );
}
