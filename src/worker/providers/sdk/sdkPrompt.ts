import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
} from '@ai-sdk/provider';
import type { Assignment } from '../../../domain/workerProtocol.ts';
import {
  type ChatMessage,
  type ChatPart,
  type ChatText,
  cacheOption,
  chatMessages,
  RequestError,
} from '../request/chatMessages.ts';

/** The messages of a job in the SDKs' form. @throws RequestError when that is impossible. */
export function sdkPrompt(assignment: Assignment): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  for (const [index, message] of chatMessages(assignment).entries()) {
    for (const next of sdkMessages(message, index)) {
      const before = prompt.at(-1);
      // The results of parallel tool calls are one message.
      if (before?.role === 'tool' && next.role === 'tool') before.content.push(...next.content);
      else prompt.push(next);
    }
  }
  return prompt;
}

/**
 * The same for a provider that allows system messages only at the start.
 * @throws RequestError for a later one: moved to the front it would change its meaning.
 */
export function systemFirstPrompt(assignment: Assignment, name: string): LanguageModelV4Prompt {
  const roles = chatMessages(assignment).map(({ role }) => role);
  const others = roles.findIndex((role) => role !== 'system');
  const late = roles.findIndex((role, index) => role === 'system' && index > others && others >= 0);
  if (late < 0) return sdkPrompt(assignment);
  throw new RequestError(
    `messages[${late}].role: ${name} allows a system message only at the beginning of a conversation`,
  );
}

function sdkMessages(message: ChatMessage, index: number): LanguageModelV4Message[] {
  const { role, parts, images, toolCalls } = message;
  if (role !== 'user' && images.length > 0) {
    throw new RequestError(`messages[${index}].content has an image, which only the role user may have`);
  }
  switch (role) {
    case 'system':
      return textsOf(parts).map(({ type: _type, text, ...options }) => ({ role, content: text, ...options }));
    case 'user':
      return [{ role, content: parts.length === 0 ? [{ type: 'text', text: '' }] : parts.map(userPart) }];
    case 'assistant':
      return [
        {
          role,
          content: [
            ...(message.text === '' ? [] : textsOf(parts)),
            ...toolCalls.map(({ id, function: called }) => ({
              type: 'tool-call' as const,
              toolCallId: id,
              toolName: called.name,
              input: argumentsOf(called.arguments, index),
            })),
          ],
        },
      ];
    case 'tool':
      return [toolMessage(message, index)];
  }
}

function textsOf(parts: readonly ChatPart[]): LanguageModelV4TextPart[] {
  return parts.filter((part) => part.type === 'text').map(textPart);
}

function textPart({ text, cacheControl }: ChatText): LanguageModelV4TextPart {
  return { type: 'text', text, ...cacheOption(cacheControl) };
}

function userPart(part: ChatPart): LanguageModelV4TextPart | LanguageModelV4FilePart {
  if (part.type === 'text') return textPart(part);
  const { mediaType, base64, cacheControl, detail } = part;
  const options = {
    ...cacheOption(cacheControl).providerOptions,
    ...(detail === undefined ? {} : { openai: { imageDetail: detail } }),
  };
  return {
    type: 'file',
    mediaType,
    data: { type: 'data', data: base64 },
    ...(Object.keys(options).length === 0 ? {} : { providerOptions: options }),
  };
}

function toolMessage(
  { toolCallId, toolName, text, parts }: ChatMessage,
  index: number,
): LanguageModelV4Message {
  if (toolCallId === null) throw new RequestError(`messages[${index}] of the role tool has no tool_call_id`);
  return {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId,
        toolName: toolName ?? toolCallId,
        output: { type: 'text', value: text },
        ...cacheOption(parts.at(-1)?.cacheControl),
      },
    ],
  };
}

function argumentsOf(json: string, index: number): unknown {
  try {
    return JSON.parse(json === '' ? '{}' : json);
  } catch {
    throw new RequestError(`messages[${index}].tool_calls has arguments that are not JSON`);
  }
}
