import type { WireUsage } from '../../../domain/usage.ts';
import { type Fields, fieldsOf, isFields } from '../../../lib/fields.ts';
import type { Dialect } from './dialect.ts';
import { countOf, tokenUsage } from './tokenUsage.ts';

/**
 * Chat completions: `{"choices": […], "usage"}`, the usage in a last event without choices; an error is an event of its
 * own, at OpenRouter beside `finish_reason: "error"`.
 */
export function openAiChatDialect(
  lastWord: Dialect['lastWord'],
  usageOf: Dialect['usageOf'] = openAiChatUsage,
): Dialect {
  let hasReason = false;
  return {
    hear: ({ error, usage, model, choices }) => {
      const heard = listOf(choices);
      // Some servers send an empty one in every event; and if more follows, it was not the end.
      if (heard.length > 0) hasReason = heard.some(({ finish_reason: reason }) => isReason(reason));
      return {
        ...(error === undefined || error === null ? {} : { error: { error } }),
        usage: isFields(usage) ? usage : undefined,
        model: typeof model === 'string' ? model : undefined,
        isWhole: lastWord !== 'done' && hasReason,
        // Some proxies send pings of their own, such as `{"type": "ping"}`.
        isUnknown: choices === undefined,
      };
    },
    usageOf,
    eventsOf: (answer) => {
      const choices = listOf(answer.choices).filter(({ message }) => isFields(message));
      return choices.length === 0 ? null : [{ ...answer, choices: choices.map(asChunk) }];
    },
    lastWord,
  };
}

/** A choice of a whole answer as that of a chunk: its message is the one delta, with numbered tool calls. */
function asChunk({ message, ...choice }: Fields): Fields {
  const { tool_calls: calls, ...delta } = fieldsOf(message);
  const numbered = listOf(calls).map((call, index) => ({ index, ...call }));
  return { ...choice, delta: { ...delta, ...(numbered.length === 0 ? {} : { tool_calls: numbered }) } };
}

function isReason(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

/**
 * `prompt_tokens` and `completion_tokens`, which include their details. xAI and a few others count reasoning
 * separately; their total shows it. DeepSeek has `prompt_cache_hit_tokens`. Source:
 * https://platform.openai.com/docs/api-reference/chat/object
 */
export function openAiChatUsage(raw: Fields): Partial<WireUsage> {
  const input = countOf(raw.prompt_tokens);
  const completion = countOf(raw.completion_tokens);
  const total = countOf(raw.total_tokens);
  const prompt = fieldsOf(raw.prompt_tokens_details);
  const reasoning = countOf(fieldsOf(raw.completion_tokens_details).reasoning_tokens);
  const sum = (input ?? 0) + (completion ?? 0);
  const isApart = (reasoning ?? 0) > 0 && total === sum + (reasoning ?? 0);
  return tokenUsage({
    input,
    cached: countOf(prompt.cached_tokens) ?? countOf(raw.prompt_cache_hit_tokens),
    written: countOf(prompt.cache_write_tokens),
    output: completion === undefined ? undefined : completion + (isApart ? (reasoning ?? 0) : 0),
    reasoning,
  });
}

/**
 * The same with the charge that OpenRouter reports: `cost`, in dollars. With your own key at the provider behind it
 * (`is_byok`) that is OpenRouter's fee, and the provider's bill is beside it. Source:
 * https://openrouter.ai/docs/use-cases/usage-accounting
 */
export function chatUsageWithCost(raw: Fields): Partial<WireUsage> {
  const upstream = raw.is_byok === true ? fieldsOf(raw.cost_details).upstream_inference_cost : 0;
  const isTold = typeof raw.cost === 'number' && typeof upstream === 'number';
  return { ...openAiChatUsage(raw), ...(isTold ? { cost_usd: Number(raw.cost) + upstream } : {}) };
}
