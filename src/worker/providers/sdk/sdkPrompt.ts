import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Assignment } from '../../../domain/workerProtocol.ts';
import { type ChatMessage, chatMessages, RequestError } from '../request/chatMessages.ts';

/** The messages of a job in the form of the SDKs. @throws RequestError when that cannot be made of them. */
export function sdkPrompt(assignment: Assignment): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  for (const [index, message] of chatMessages(assignment).entries()) {
    const before = prompt.at(-1);
    const next = sdkMessage(message, index);
    // The answers of tools that were called together belong together.
    if (before?.role === 'tool' && next.role === 'tool') before.content.push(...next.content);
    else prompt.push(next);
  }
  return prompt;
}

function sdkMessage(message: ChatMessage, index: number): LanguageModelV4Message {
  const { role, text, images, toolCalls, toolCallId, toolName } = message;
  const said = text === '' ? [] : [{ type: 'text' as const, text }];
  switch (role) {
    case 'system':
      return { role, content: text };
    case 'user':
      return {
        role,
        content: [
          ...(said.length === 0 && images.length === 0 ? [{ type: 'text' as const, text }] : said),
          ...images.map(({ mediaType, base64 }) => ({
            type: 'file' as const,
            mediaType,
            data: { type: 'data' as const, data: base64 },
          })),
        ],
      };
    case 'assistant':
      return {
        role,
        content: [
          ...said,
          ...toolCalls.map(({ id, function: called }) => ({
            type: 'tool-call' as const,
            toolCallId: id,
            toolName: called.name,
            input: argumentsOf(called.arguments, index),
          })),
        ],
      };
    case 'tool':
      if (toolCallId === null)
        throw new RequestError(`messages[${index}] of the role tool has no tool_call_id`);
      return {
        role,
        content: [
          {
            type: 'tool-result',
            toolCallId,
            toolName: toolName ?? toolCallId,
            output: { type: 'text', value: text },
          },
        ],
      };
  }
}

function argumentsOf(json: string, index: number): unknown {
  try {
    return JSON.parse(json === '' ? '{}' : json);
  } catch {
    throw new RequestError(`messages[${index}].tool_calls has arguments that are no JSON`);
  }
}
