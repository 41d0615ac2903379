import { type BodyFields, commonFields, types } from '../fields.ts';

const isFalse = (value: unknown): boolean => value === false;
const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const { number, integer, flag, text, object, list } = types;

/**
 * What becomes of each field of a chat completion. A refused one would otherwise be answered as if it had asked for nothing,
 * and one answer be taken for several.
 */
export const chatFields: BodyFields = {
  ...commonFields,
  messages: {
    treatment: 'honoured',
    schema: {
      type: 'array',
      minItems: 1,
      items: { type: 'object', required: ['role'], properties: { role: text } },
      description: 'They reach the provider unchanged.',
    },
  },
  stream: { treatment: 'honoured', schema: flag },
  stream_options: {
    treatment: 'honoured',
    schema: {
      type: 'object',
      properties: {
        include_usage: { type: 'boolean', description: 'The stream ends with a chunk of usage.' },
        include_obfuscation: { type: 'boolean', description: 'Nothing is ever added.', 'x-svc': 'ignored' },
      },
    },
  },
  store: {
    treatment: 'honoured',
    schema: { ...flag, description: 'Whether the list of stored completions has it.' },
  },
  max_tokens: { treatment: 'passed_on', schema: integer },
  max_completion_tokens: { treatment: 'passed_on', schema: integer },
  stop: { treatment: 'passed_on', schema: {} },
  seed: { treatment: 'passed_on', schema: integer },
  presence_penalty: { treatment: 'passed_on', schema: number },
  frequency_penalty: { treatment: 'passed_on', schema: number },
  logit_bias: { treatment: 'passed_on', schema: object },
  tools: { treatment: 'passed_on', schema: list },
  tool_choice: { treatment: 'passed_on', schema: {} },
  parallel_tool_calls: { treatment: 'passed_on', schema: flag },
  response_format: { treatment: 'passed_on', schema: object },
  reasoning_effort: { treatment: 'passed_on', schema: text },
  verbosity: { treatment: 'passed_on', schema: text },
  moderation: { treatment: 'passed_on', schema: object },
  prompt_cache_options: { treatment: 'passed_on', schema: object },
  prompt_cache_retention: { treatment: 'passed_on', schema: text },
  n: {
    treatment: 'refused',
    schema: { const: 1 },
    asksNothing: (value) => value === 1,
    hint: 'a job has one answer, send several requests',
  },
  logprobs: { treatment: 'refused', schema: { const: false }, asksNothing: isFalse },
  top_logprobs: { treatment: 'refused', schema: { const: 0 }, asksNothing: (value) => value === 0 },
  modalities: {
    treatment: 'refused',
    schema: { type: 'array', items: { const: 'text' } },
    asksNothing: (value) => Array.isArray(value) && value.every((one) => one === 'text'),
  },
  audio: { treatment: 'refused', schema: { const: false }, asksNothing: isFalse },
  prediction: { treatment: 'refused', schema: { const: false }, asksNothing: isFalse },
  web_search_options: { treatment: 'refused', schema: { const: false }, asksNothing: isFalse },
  functions: { treatment: 'refused', schema: { type: 'array', maxItems: 0 }, asksNothing: isEmptyList },
  function_call: { treatment: 'refused', schema: { const: false }, asksNothing: isFalse },
};
