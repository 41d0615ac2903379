import type { WireUsage } from '../../../domain/usage.ts';
import { type Fields, fieldsOf, isFields } from '../../../lib/fields.ts';
import type { Dialect } from './dialect.ts';
import { countOf, tokenUsage } from './tokenUsage.ts';

/**
 * Chat completions: `{"choices": […], "usage"}`, the usage in a last event without choices; an error stands in an event of
 * its own, at OpenRouter beside `finish_reason: "error"`.
 */
export function openAiChatDialect(lastWord: Dialect['lastWord']): Dialect {
  return {
    hear: ({ error, usage, model, choices }) => ({
      ...(error === undefined || error === null ? {} : { error: { error } }),
      usage: isFields(usage) ? usage : undefined,
      model: typeof model === 'string' ? model : undefined,
      // Some proxies have pings of their own, such as `{"type": "ping"}`.
      isUnknown: choices === undefined,
    }),
    usageOf: openAiChatUsage,
    lastWord,
  };
}

/**
 * `prompt_tokens` and `completion_tokens`, which include their details. xAI and a few others keep reasoning apart; their
 * total shows it. DeepSeek has `prompt_cache_hit_tokens`.
 * Source: https://platform.openai.com/docs/api-reference/chat/object
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
