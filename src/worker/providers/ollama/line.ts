import { fieldsOf, isFields, parseFields } from '../../../lib/fields.ts';

/** One line of ollama's answer. */
export interface AnswerLine {
  text: string;
  /** It is not output. */
  thinking: string;
  toolCalls: { name: string; arguments: string }[];
  error: string | null;
  isDone: boolean;
  reason: string;
  model: string | null;
  /** Counts of tokens, and durations in nanoseconds. */
  metrics: Record<string, number>;
}

const metricKeys = [
  'prompt_eval_count',
  'eval_count',
  'total_duration',
  'load_duration',
  'prompt_eval_duration',
  'eval_duration',
];

/** @returns null when it does not follow ollama's protocol. */
export function parseLine(line: string): AnswerLine | null {
  const fields = parseFields(line);
  if (fields === null) return null;
  const { message: given, error, done, done_reason: reason, model } = fields;
  const message = fieldsOf(given);
  const { content, thinking, tool_calls: calls } = message;
  return {
    text: typeof content === 'string' ? content : '',
    thinking: typeof thinking === 'string' ? thinking : '',
    toolCalls: Array.isArray(calls) ? calls.flatMap(toolCall) : [],
    error: error === undefined ? null : typeof error === 'string' ? error : 'an error without a text',
    isDone: done === true,
    reason: typeof reason === 'string' && reason !== '' ? reason : 'stop',
    model: typeof model === 'string' && model !== '' ? model : null,
    metrics: Object.fromEntries(
      metricKeys.flatMap((key) => {
        const value = fields[key];
        return typeof value === 'number' ? [[key, value]] : [];
      }),
    ),
  };
}

/** `{"function": {"name", "arguments": {…}}}`: the arguments are an object here, and text in OpenAI's form. */
function toolCall(call: unknown): AnswerLine['toolCalls'] {
  const called = isFields(call) ? call.function : null;
  if (!isFields(called) || typeof called.name !== 'string') return [];
  return [{ name: called.name, arguments: JSON.stringify(called.arguments ?? {}) }];
}
