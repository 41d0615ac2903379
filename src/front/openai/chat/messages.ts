import type { JobRecord, Message } from '../../../domain/job.ts';
import { invalidField } from '../errors.ts';

/** The messages of a request, also of one that came over the native API. */
export function messagesOf({ request: { messages, prompt, input } }: JobRecord): readonly Message[] {
  if (messages !== null) return messages;
  const texts = [prompt, input].filter((text) => text !== null);
  return texts.map((content) => ({ role: 'user', content }));
}

export function messageId(completionId: string, index: number): string {
  return `${completionId}-${index}`;
}

/** @throws OpenAiError invalid_value. */
export function indexOfMessage(id: string, completionId: string, count: number): number {
  const index = Number(/-(\d{1,9})$/.exec(id)?.[1] ?? Number.NaN);
  if (id === messageId(completionId, index) && index < count) return index;
  throw invalidField('after', 'must be the id of one of the messages');
}

/** OpenAI puts a text and a list of parts in different fields. */
export function shownMessage(message: Message | undefined, id: string) {
  const content = message?.content ?? null;
  const isList = Array.isArray(content);
  return {
    name: null,
    ...message,
    id,
    content: isList ? null : content,
    content_parts: isList ? content : null,
  };
}
