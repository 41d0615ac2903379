import type { Message } from '../../domain/job.ts';
import type { DispatchBody } from '../../domain/wire/job.ts';
import { type Fields, isFields } from '../../lib/fields.ts';
import { FileFault } from '../fault.ts';
import type { Format, LineFault, RawJob } from '../format.ts';
import type { Source } from '../source.ts';
import { idOf, parseJson } from './jobBody.ts';
import { firstLine } from './lines.ts';
import { refuseTableOptions } from './tableOptions.ts';

const chatUrl = '/v1/chat/completions';
/** The answer is written whole, and one choice is all there is. */
const notParams = ['stream', 'stream_options'] as const;

/** A batch file of OpenAI: a request on each line. */
export const openaiBatch: Format = {
  name: 'openai',
  description: 'a batch file of OpenAI: custom_id, method, url, body',
  extensions: [],
  isTable: false,
  fits: (sample) => {
    const value = parseJson(firstLine(sample));
    return isFields(value) && isFields(value.body) && ('url' in value || 'method' in value);
  },
  open: async (source, options) => {
    refuseTableOptions('openai', options);
    if (options.prompt !== undefined)
      throw new FileFault('the requests of an OpenAI batch file are whole: leave the prompt out');
    return { header: [], read: () => read(source, options.idColumn ?? 'custom_id') };
  },
};

async function* read(source: Source, idField: string): AsyncGenerator<RawJob | LineFault> {
  for await (const batch of source.lines()) {
    for (const { line, text } of batch) if (text.trim() !== '') yield requestOf(line, text, idField);
  }
}

function requestOf(line: number, text: string, idField: string): RawJob | LineFault {
  const value = parseJson(text);
  if (!isFields(value)) return { line, fault: 'is not a JSON object' };
  const ownId = idOf(value[idField]);
  if (ownId === null) return { line, fault: `has no ${idField}` };
  if (typeof ownId === 'object') return { line, ...ownId };
  const { method = 'POST', url = chatUrl, body } = value;
  if (method !== 'POST') return { line, fault: 'has another method than POST' };
  if (url !== chatUrl) return { line, fault: `has another url than ${chatUrl}` };
  if (!isFields(body)) return { line, fault: 'has no body' };
  if (!Array.isArray(body.messages)) return { line, fault: 'has no messages in its body' };
  return { line, ownId, body: jobOf(body), cells: [] };
}

/** The same as a job: what is not the model or the messages is passed on to the provider. */
function jobOf({ model, messages, metadata, ...rest }: Fields): DispatchBody {
  const params = Object.fromEntries(
    Object.entries(rest).filter(([name]) => !notParams.some((one) => one === name)),
  );
  return {
    messages: messages as Message[],
    ...(model === undefined || model === null ? {} : { model: model as string }),
    ...(metadata === undefined || metadata === null ? {} : { metadata: metadata as Record<string, string> }),
    ...(Object.keys(params).length === 0 ? {} : { params }),
  };
}
