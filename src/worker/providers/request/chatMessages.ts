import type { Assignment, ToolCall } from '../../../domain/workerProtocol.ts';
import { type Fields, isFields } from '../../../lib/fields.ts';

/** One message of a chat: its text, and what was said in other forms. */
export interface ChatMessage {
  /** `developer`, which is what OpenAI calls the system today, is told as `system`. */
  role: 'system' | 'user' | 'assistant' | 'tool';
  text: string;
  images: ChatImage[];
  /** Of an assistant: what it wanted to have called. */
  toolCalls: ToolCall[];
  /** Of a tool: which call it answers. */
  toolCallId: string | null;
  /** Of a tool: its name, found by the call that it answers. */
  toolName: string | null;
}

export interface ChatImage {
  /** `image/png` and the like. */
  mediaType: string;
  /** Without a `data:` before it. */
  base64: string;
}

/** A job that cannot be asked of this provider. The message says what of it, and nothing of its content. */
export class RequestError extends Error {}

/**
 * The messages of a job: its own ones, or its prompt and input. With both, the prompt is the system message and the input
 * the user's; a prompt alone is the user's.
 * @throws RequestError when there is none, or one that has no place in this form.
 */
export function chatMessages(assignment: Assignment): ChatMessage[] {
  const toolNames = new Map<string, string>();
  return plainMessages(assignment).map((message, index) => read(message, index, toolNames));
}

/** The same in OpenAI's shape, as they are. @throws RequestError when there is none. */
export function plainMessages({ messages, prompt, input }: Assignment): Fields[] {
  const said = (role: string, text: string | null): Fields[] =>
    text === null || text === '' ? [] : [{ role, content: text }];
  const all =
    messages !== null
      ? messages.map((message) => ({ ...message }))
      : input === null || input === ''
        ? said('user', prompt)
        : [...said('system', prompt), ...said('user', input)];
  if (all.length === 0) throw new RequestError('The job has neither a prompt nor a message');
  const odd = all.findIndex(({ content }) => !isContent(content ?? null));
  if (odd >= 0) throw new RequestError(`messages[${odd}].content is neither text nor a list`);
  return all;
}

function isContent(content: unknown): boolean {
  return content === null || typeof content === 'string' || Array.isArray(content);
}

function read(message: Fields, index: number, toolNames: Map<string, string>): ChatMessage {
  const at = `messages[${index}]`;
  const toolCalls = toolCallsOf(message.tool_calls, at);
  for (const { id, function: called } of toolCalls) toolNames.set(id, called.name);
  const toolCallId = typeof message.tool_call_id === 'string' ? message.tool_call_id : null;
  return {
    role: roleOf(message.role, at),
    ...contentOf(message.content, at),
    toolCalls,
    toolCallId,
    toolName: typeof message.name === 'string' ? message.name : (toolNames.get(toolCallId ?? '') ?? null),
  };
}

const roles: Readonly<Record<string, ChatMessage['role']>> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
};

function roleOf(role: unknown, at: string): ChatMessage['role'] {
  const known = typeof role === 'string' && Object.hasOwn(roles, role) ? roles[role] : undefined;
  if (known === undefined) throw new RequestError(`${at}.role is none of ${Object.keys(roles).join(', ')}`);
  return known;
}

function contentOf(content: unknown, at: string): Pick<ChatMessage, 'text' | 'images'> {
  if (typeof content === 'string' || content === null || content === undefined) {
    return { text: content ?? '', images: [] };
  }
  const parts: unknown[] = Array.isArray(content) ? content : [];
  let text = '';
  const images: ChatImage[] = [];
  for (const part of parts) {
    const said = textOf(part);
    const image = said === null ? imageOf(part) : null;
    if (said !== null) text += said;
    else if (image !== null) images.push(image);
    else {
      throw new RequestError(
        `${at}.content has a part that is neither text nor an image as a data URL (data:image/…;base64,…)`,
      );
    }
  }
  return { text, images };
}

function textOf(part: unknown): string | null {
  if (typeof part === 'string') return part;
  return isFields(part) && typeof part.text === 'string' ? part.text : null;
}

/** `{type: 'image_url', image_url: {url: 'data:image/png;base64,…'}}`. An address would have to be fetched; it is not taken. */
function imageOf(part: unknown): ChatImage | null {
  if (!isFields(part)) return null;
  const { image_url: image } = part;
  const url = isFields(image) ? image.url : image;
  const [, mediaType, base64] =
    (typeof url === 'string' && /^data:(image\/[\w.+-]+);base64,(.+)$/s.exec(url)) || [];
  return mediaType === undefined || base64 === undefined ? null : { mediaType, base64 };
}

function toolCallsOf(value: unknown, at: string): ToolCall[] {
  if (value === undefined || value === null) return [];
  const calls: unknown[] = Array.isArray(value) ? value : [value];
  return calls.map((call, index) => {
    const called = isFields(call) ? call.function : null;
    if (!isFields(call) || !isFields(called) || typeof called.name !== 'string') {
      throw new RequestError(
        `${at}.tool_calls[${index}] is not {id, type: "function", function: {name, arguments}}`,
      );
    }
    const { arguments: given = '{}' } = called;
    return {
      id: typeof call.id === 'string' ? call.id : `call_${index}`,
      type: 'function',
      function: { name: called.name, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
    };
  });
}
