import { isFields } from './fields.ts';
import type { Dialect } from './sdkRun.ts';
import { openAiChatUsage, openAiResponsesUsage } from './tokenUsage.ts';

/**
 * Chat completions: `{"choices": […], "usage"}`, the usage in a last event without choices; an error stands in an event of
 * its own, at OpenRouter beside `finish_reason: "error"`.
 */
export function openAiChatDialect(lastWord: Dialect['lastWord']): Dialect {
  return {
    hear: ({ error, usage, model }) => ({
      ...(error === undefined || error === null ? {} : { error: { error } }),
      usage: isFields(usage) ? usage : undefined,
      model: typeof model === 'string' ? model : undefined,
    }),
    usageOf: openAiChatUsage,
    lastWord,
  };
}

const lastEvents = ['response.completed', 'response.incomplete'];

/** Responses: events with a `type`; the whole response stands in the first ones and in the last. */
export const openAiResponsesDialect: Dialect = {
  hear: (event) => {
    const { type, response } = event;
    const isError = type === 'error' || type === 'response.failed';
    const whole = isFields(response) ? response : {};
    return {
      ...(isError ? { error: event } : {}),
      usage: isFields(whole.usage) ? whole.usage : undefined,
      model: typeof whole.model === 'string' ? whole.model : undefined,
      isLast: typeof type === 'string' && lastEvents.includes(type),
    };
  },
  usageOf: openAiResponsesUsage,
  lastWord: 'reason',
};
