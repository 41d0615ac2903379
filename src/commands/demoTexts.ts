import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DispatchBody } from '../domain/wire/job.ts';
import { projectFolder } from '../lib/projectFolder.ts';

/** A text of the demonstration with its prompt. */
export interface DemoText {
  /** In docs/texts. */
  file: string;
  prompt: string;
  priority: string;
  tier: string;
  tags: string[];
  /** The more expensive one, where it is set. */
  model?: string;
}

const folder = join(projectFolder, 'docs/texts');

/** Long enough to see jobs wait for a slot, but not to wait for the demonstration, ms a word. */
const delayMsPerWord = 4;

/** The jobs of the demonstration, the least urgent first, to show that urgent ones overtake. */
export async function demoJobs(): Promise<DispatchBody[]> {
  const index: DemoText[] = JSON.parse(await readFile(join(folder, 'index.json'), 'utf8'));
  return Promise.all(index.toReversed().map(jobOf));
}

async function jobOf({
  file,
  prompt,
  priority,
  tier,
  tags,
  model = 'echo-small',
}: DemoText): Promise<DispatchBody> {
  const input = await readFile(join(folder, file), 'utf8');
  const words = input.split(/\s+/).length;
  return {
    prompt,
    input,
    provider: 'echo',
    model,
    priority,
    tier,
    tags,
    params: { echo_delay_ms: words * delayMsPerWord },
    metadata: { text: file },
  };
}
