import { type BodyFields, commonFields, types } from '../fields.ts';

const { integer, flag, text, object, list } = types;

/** What becomes of each field of a response. */
export const responseFields: BodyFields = {
  ...commonFields,
  input: {
    treatment: 'honoured',
    schema: {
      description:
        'A text, or at most 10,000 items. Items that are neither messages nor calls of functions and their outputs are left out.',
    },
  },
  instructions: { treatment: 'honoured', schema: { ...text, description: 'The first system message.' } },
  previous_response_id: {
    treatment: 'honoured',
    schema: {
      ...text,
      description: 'Goes on from that response: its conversation is sent again, without its instructions.',
    },
  },
  background: {
    treatment: 'honoured',
    schema: { ...flag, description: 'Answer at once. Hanging up does not cancel the job.' },
  },
  stream: {
    treatment: 'honoured',
    schema: { ...flag, description: 'With `background` the stream can be read again.' },
  },
  tools: {
    treatment: 'honoured',
    schema: { ...list, description: 'Functions, also those in a `namespace`; all others are left out.' },
  },
  tool_choice: { treatment: 'passed_on', schema: {}, passedAs: 'tool_choice' },
  parallel_tool_calls: { treatment: 'passed_on', schema: flag, passedAs: 'parallel_tool_calls' },
  max_output_tokens: { treatment: 'passed_on', schema: integer, passedAs: 'max_tokens' },
  reasoning: {
    treatment: 'passed_on',
    schema: { ...object, description: '`effort` alone.' },
    passedAs: 'reasoning_effort',
  },
  text: {
    treatment: 'passed_on',
    schema: { ...object, description: '`format` and `verbosity`.' },
    passedAs: 'response_format',
  },
  access_programs: { treatment: 'ignored', schema: object },
  client_metadata: { treatment: 'ignored', schema: object },
  context_management: { treatment: 'ignored', schema: list },
  image: { treatment: 'ignored', schema: object },
  include: { treatment: 'ignored', schema: { type: 'array', items: text } },
  max_tool_calls: { treatment: 'ignored', schema: integer },
  moderation: { treatment: 'ignored', schema: object },
  prompt_cache_options: { treatment: 'ignored', schema: object },
  prompt_cache_retention: { treatment: 'ignored', schema: text },
  store: { treatment: 'ignored', schema: { ...flag, description: 'Every response is stored.' } },
  stream_options: { treatment: 'ignored', schema: object },
  truncation: { treatment: 'ignored', schema: text },
  conversation: {
    treatment: 'refused',
    schema: { type: 'null' },
    hint: 'send previous_response_id, or the whole conversation as input',
  },
  prompt: {
    treatment: 'refused',
    schema: { type: 'null' },
    hint: 'prompts are not stored here, send instructions and input',
  },
  top_logprobs: { treatment: 'refused', schema: { const: 0 }, asksNothing: (value) => value === 0 },
};
