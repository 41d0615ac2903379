import type { DispatchBody, WireJob } from '../../../domain/wire/job.ts';

/** A job being written: the contents of each field. */
export interface Draft {
  /** Whether it has messages instead of a prompt. */
  isChat: boolean;
  prompt: string;
  /** JSON. */
  messages: string;
  input: string;
  provider: string;
  model: string;
  priority: string;
  tier: string;
  /** Separated by commas. */
  tags: string;
  /** JSON. */
  params: string;
  /** A line each, `name=value`. */
  metadata: string;
  timeout: string;
}

export type DraftField = Exclude<keyof Draft, 'isChat'>;

/** What is wrong, by field; `form` for what belongs to no field. */
export type Problems = Partial<Record<DraftField | 'form', string>>;

export const emptyDraft: Draft = {
  isChat: false,
  prompt: '',
  messages: '[\n  { "role": "user", "content": "" }\n]',
  input: '',
  provider: '',
  model: '',
  priority: '',
  tier: '',
  tags: '',
  params: '',
  metadata: '',
  timeout: '',
};

/** The request of another job, to be changed and sent again. */
export function draftOf(job: WireJob): Draft {
  const { params, metadata, messages } = job;
  return {
    isChat: messages !== null,
    prompt: job.prompt ?? '',
    messages: messages === null ? emptyDraft.messages : JSON.stringify(messages, null, 2),
    input: job.input ?? '',
    provider: job.provider ?? '',
    model: job.model ?? '',
    priority: job.priority,
    tier: job.tier ?? '',
    tags: job.tags.join(', '),
    params: Object.keys(params).length === 0 ? '' : JSON.stringify(params, null, 2),
    metadata: Object.entries(metadata)
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
    timeout: job.timeout_seconds === null ? '' : String(job.timeout_seconds),
  };
}

/** The body to send. Checks only for invalid JSON; the coordinator validates everything else. */
export function bodyOf(draft: Draft): { body: DispatchBody; problems: Problems } {
  const problems: Problems = {};
  const json = (field: 'messages' | 'params'): unknown => {
    try {
      return JSON.parse(draft[field]);
    } catch (error) {
      problems[field] = `is not JSON: ${error instanceof Error ? error.message : String(error)}`;
      return undefined;
    }
  };
  const text = (field: DraftField): string | undefined => draft[field].trim() || undefined;
  const tags = draft.tags
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
  const timeout = text('timeout');
  if (timeout !== undefined && !Number.isFinite(Number(timeout)))
    problems.timeout = 'must be a number of seconds';
  const body = {
    ...(draft.isChat ? { messages: json('messages') } : { prompt: draft.prompt }),
    input: draft.input === '' ? undefined : draft.input,
    provider: text('provider'),
    model: text('model'),
    priority: text('priority'),
    tier: text('tier'),
    tags: tags.length === 0 ? undefined : tags,
    params: text('params') === undefined ? undefined : json('params'),
    metadata: metadataOf(draft.metadata, problems),
    timeout_seconds: timeout === undefined ? undefined : Number(timeout),
  };
  // Absent fields have the coordinator's defaults, which it checks itself.
  const sent = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
  return { body: sent as DispatchBody, problems };
}

function metadataOf(text: string, problems: Problems): Record<string, string> | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) return undefined;
  const entries = lines.map((line): [string, string] => {
    const at = line.indexOf('=');
    if (at < 1) problems.metadata = `“${line.trim()}” is not name=value`;
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  return Object.fromEntries(entries);
}

const fieldOf: Record<string, DraftField> = {
  prompt: 'prompt',
  messages: 'messages',
  input: 'input',
  provider: 'provider',
  model: 'model',
  priority: 'priority',
  tier: 'tier',
  tags: 'tags',
  params: 'params',
  metadata: 'metadata',
  timeout_seconds: 'timeout',
};

/** The coordinator's errors, at the fields that it named: `tags[0]` belongs to `tags`. */
export function problemsOf(detail: string, errors: readonly { field: string; message: string }[]): Problems {
  const problems: Problems = {};
  for (const { field, message } of errors) {
    const [name = ''] = field.split(/[.[]/);
    const place = fieldOf[name] ?? 'form';
    const text = field === name && place !== 'form' ? message : `${field} ${message}`;
    problems[place] = problems[place] === undefined ? text : `${problems[place]}; ${text}`;
  }
  return errors.length === 0 ? { form: detail } : problems;
}

/** Sixteen random bytes as text: a job sent twice by accident is created once. */
export function newIdempotencyKey(
  random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>,
): string {
  const bytes = random(new Uint8Array(16));
  return `form-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
