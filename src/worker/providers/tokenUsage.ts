import type { WireUsage } from '../../domain/usage.ts';
import { type Fields, isFields } from './fields.ts';

/**
 * What each provider counts, in our terms: the input includes what was read from a cache and written to one, the output
 * includes reasoning. A count that is not given is left out: unknown, not 0.
 */
type TokenUsage = Partial<WireUsage>;

/**
 * `prompt_tokens` and `completion_tokens`, which include their details. xAI and a few others keep reasoning apart; their
 * total shows it. DeepSeek has `prompt_cache_hit_tokens`.
 * Source: https://platform.openai.com/docs/api-reference/chat/object
 */
export function openAiChatUsage(raw: Fields): TokenUsage {
  const input = count(raw.prompt_tokens);
  const completion = count(raw.completion_tokens);
  const total = count(raw.total_tokens);
  const prompt = fieldsOf(raw.prompt_tokens_details);
  const reasoning = count(fieldsOf(raw.completion_tokens_details).reasoning_tokens);
  const sum = (input ?? 0) + (completion ?? 0);
  const isApart = (reasoning ?? 0) > 0 && total === sum + (reasoning ?? 0);
  return tokenUsage({
    input,
    cached: count(prompt.cached_tokens) ?? count(raw.prompt_cache_hit_tokens),
    written: count(prompt.cache_write_tokens),
    output: completion === undefined ? undefined : completion + (isApart ? (reasoning ?? 0) : 0),
    reasoning,
  });
}

/** Source: https://platform.openai.com/docs/api-reference/responses/object */
export function openAiResponsesUsage(raw: Fields): TokenUsage {
  const details = fieldsOf(raw.input_tokens_details);
  return tokenUsage({
    input: count(raw.input_tokens),
    cached: count(details.cached_tokens),
    written: count(details.cache_write_tokens),
    output: count(raw.output_tokens),
    reasoning: count(fieldsOf(raw.output_tokens_details).reasoning_tokens),
  });
}

/**
 * `input_tokens` excludes what the cache is asked and given; `output_tokens` includes thinking.
 * Source: https://docs.claude.com/en/docs/build-with-claude/prompt-caching
 */
export function anthropicUsage(raw: Fields): TokenUsage {
  const plain = count(raw.input_tokens);
  const cached = count(raw.cache_read_input_tokens);
  const written = count(raw.cache_creation_input_tokens);
  return tokenUsage({
    input: plain === undefined ? undefined : plain + (cached ?? 0) + (written ?? 0),
    cached,
    written,
    output: count(raw.output_tokens),
    reasoning: count(fieldsOf(raw.output_tokens_details).thinking_tokens),
  });
}

/**
 * `promptTokenCount` includes the cached ones; `candidatesTokenCount` excludes the thoughts, which are billed as output.
 * Source: https://ai.google.dev/api/generate-content#UsageMetadata
 */
export function googleUsage(raw: Fields): TokenUsage {
  const prompt = count(raw.promptTokenCount);
  const candidates = count(raw.candidatesTokenCount);
  const thoughts = count(raw.thoughtsTokenCount);
  const isOutputKnown = candidates !== undefined || thoughts !== undefined;
  return tokenUsage({
    input: prompt === undefined ? undefined : prompt + (count(raw.toolUsePromptTokenCount) ?? 0),
    cached: count(raw.cachedContentTokenCount),
    written: undefined,
    output: isOutputKnown ? (candidates ?? 0) + (thoughts ?? 0) : undefined,
    reasoning: thoughts,
  });
}

interface Counts {
  input: number | undefined;
  cached: number | undefined;
  written: number | undefined;
  output: number | undefined;
  reasoning: number | undefined;
}

function tokenUsage({ input, cached, written, output, reasoning }: Counts): TokenUsage {
  return {
    ...(input === undefined ? {} : { input_tokens: input }),
    ...(output === undefined ? {} : { output_tokens: output }),
    ...(cached === undefined ? {} : { cached_input_tokens: cached }),
    ...(written === undefined ? {} : { cache_write_tokens: written }),
    ...(reasoning === undefined ? {} : { reasoning_tokens: reasoning }),
    ...(input === undefined || output === undefined ? {} : { total_tokens: input + output }),
  };
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}
