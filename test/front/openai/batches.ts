import type OpenAI from 'openai';
import { toFile } from 'openai';
import type { Batch } from 'openai/resources/batches';
import { adminKey, until } from '../../support/process.ts';

/** A line of an output or an error file. */
export interface AnswerLine {
  id: string;
  custom_id: string;
  response: {
    status_code: number;
    request_id: string;
    body: OpenAI.ChatCompletion & { error?: OpenAI.ErrorObject };
  } | null;
  error: { code: string; message: string } | null;
}

const finals: readonly string[] = ['completed', 'failed', 'expired', 'cancelled'];

/** A line of an input file. */
export function lineOf(id: string, body: object = {}): string {
  const whole = { model: 'echo', messages: [{ role: 'user', content: `Say ${id}` }], ...body };
  return `${JSON.stringify({ custom_id: id, method: 'POST', url: '/v1/chat/completions', body: whole })}\n`;
}

/** `count` lines: `a0`, `a1` … */
export function linesOf(count: number, body: (place: number) => object = () => ({})): string {
  return Array.from({ length: count }, (_, place) => lineOf(`a${place}`, body(place))).join('');
}

export async function uploaded(openai: OpenAI, text: string): Promise<string> {
  const file = await toFile(Buffer.from(text), 'requests.jsonl');
  return (await openai.files.create({ file, purpose: 'batch' })).id;
}

/** A batch of a file with this text. @param more fields that OpenAI does not have, too. */
export async function begun(openai: OpenAI, text: string, more: object = {}): Promise<Batch> {
  return openai.batches.create({
    input_file_id: await uploaded(openai, text),
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
    ...more,
  });
}

/** The batch when it is in one of the states. */
export function inState(openai: OpenAI, { id }: Batch, states: readonly string[] = finals): Promise<Batch> {
  return until(`the batch is ${states.join(' or ')}`, async () => {
    const batch = await openai.batches.retrieve(id);
    return states.includes(batch.status) ? batch : null;
  });
}

export async function textOf(openai: OpenAI, fileId: string | null | undefined): Promise<string> {
  return fileId == null ? '' : (await openai.files.content(fileId)).text();
}

export function parsed(text: string): AnswerLine[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AnswerLine);
}

/** What the two files of a batch say. */
export async function answersOf(openai: OpenAI, batch: Batch) {
  const output = parsed(await textOf(openai, batch.output_file_id));
  const errors = parsed(await textOf(openai, batch.error_file_id));
  return { output, errors, ids: [...output, ...errors].map((line) => line.custom_id) };
}

/** A request to `/v1` without the SDK. */
export function call(url: string, path: string, init: RequestInit = {}, key = adminKey): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return fetch(`${url}/v1${path}`, { ...init, headers: { ...headers, ...(init.headers as object) } });
}
