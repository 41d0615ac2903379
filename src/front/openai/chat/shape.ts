import {
  count,
  integer,
  list,
  literal,
  loosely,
  named,
  nullable,
  object,
  oneOf,
  optional,
  record,
  text,
} from '../../../http/shape/shape.ts';
import { type Completion, finishReasons, type WireUsage } from './completion.ts';

const usageShape = named(
  'Usage',
  object<WireUsage>({
    prompt_tokens: count(),
    completion_tokens: count(),
    total_tokens: count(),
    prompt_tokens_details: object<WireUsage['prompt_tokens_details']>({ cached_tokens: count() }),
    completion_tokens_details: object<WireUsage['completion_tokens_details']>({ reasoning_tokens: count() }),
    unknown: optional(literal(true, 'The provider did not report them. Not a field of OpenAI’s.')),
  }),
);

type Choice = Completion['choices'][0];
type ToolCalls = NonNullable<Choice['message']['tool_calls']>;

const toolCalls = loosely<ToolCalls>({
  schema: {
    type: 'array',
    items: { type: 'object', required: ['id', 'type', 'function'], additionalProperties: true },
  },
});

const choiceShape = object<Choice>({
  index: literal(0),
  message: object<Choice['message']>({
    role: literal('assistant'),
    content: nullable(text()),
    refusal: loosely({ schema: { type: 'null' } }),
    tool_calls: optional(toolCalls),
  }),
  finish_reason: oneOf(finishReasons),
  logprobs: loosely({ schema: { type: 'null' } }),
});

export const completionShape = named(
  'ChatCompletion',
  object<Completion>({
    id: text({ pattern: '^chatcmpl-[\\da-f]{32}$', description: 'Leads to its job.' }),
    object: literal('chat.completion'),
    created: integer('Epoch seconds.'),
    model: text('Where the job ran: `provider/model`.'),
    choices: loosely(list(choiceShape)),
    usage: usageShape,
    service_tier: text(),
    metadata: optional(loosely(record(text()))),
  }),
);

/** Of one event of a stream; the last one is `[DONE]`. */
export const chunkSchema = {
  type: 'string',
  description:
    'Server-sent events. `data` of each is a `chat.completion.chunk` as OpenAI has it, an object with `error`, or `[DONE]` at the end. Comments say why a job waits.',
};
