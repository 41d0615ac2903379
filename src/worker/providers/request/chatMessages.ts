import type { JSONObject, SharedV4ProviderOptions } from '@ai-sdk/provider';
import type { ToolCall } from '../../../domain/job.ts';
import type { Assignment } from '../../../domain/workerProtocol.ts';
import { type Fields, isFields } from '../../../lib/fields.ts';

/** One message of a chat: its text, images and tool calls. */
export interface ChatMessage {
  /** `developer`, OpenAI's present name of the system role, becomes `system`. */
  role: 'system' | 'user' | 'assistant' | 'tool';
  /** Texts and images in their order; empty texts are dropped. */
  parts: ChatPart[];
  /** All texts together. */
  text: string;
  images: ChatImage[];
  /** Of an assistant: its tool calls. */
  toolCalls: ToolCall[];
  /** Of a tool: the call that it answers. */
  toolCallId: string | null;
  /** Of a tool: its name, found by that call. */
  toolName: string | null;
}

/** `cache_control` of the job: Anthropic's mark for its cache. */
interface Cacheable {
  cacheControl?: Fields;
}

export interface ChatText extends Cacheable {
  type: 'text';
  text: string;
}

export interface ChatImage extends Cacheable {
  type: 'image';
  /** `image/png` and the like. */
  mediaType: string;
  /** Without the `data:` prefix. */
  base64: string;
  /** `low`, `high`, `auto` or `original`, for OpenAI. */
  detail?: string;
}

export type ChatPart = ChatText | ChatImage;

/** A job that this provider cannot run. The message says why, without its content. */
export class RequestError extends Error {}

/**
 * The messages of a job: its own, or its prompt and input. With both, the prompt is the system message and the input
 * the user's; a prompt alone is the user's.
 * @throws RequestError when there is none, or one that does not fit this form.
 */
export function chatMessages(assignment: Assignment): ChatMessage[] {
  const toolNames = new Map<string, string>();
  return plainMessages(assignment).map((message, index) => read(message, index, toolNames));
}

/** The same in OpenAI's shape, unchanged. @throws RequestError when there is none. */
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
    ...contentOf(message, at),
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

function contentOf(message: Fields, at: string): Pick<ChatMessage, 'parts' | 'text' | 'images'> {
  const { content } = message;
  const given: unknown[] = Array.isArray(content) ? content : [content ?? ''];
  const parts: ChatPart[] = [];
  for (const [index, item] of given.entries()) {
    const part = partOf(item, `${at}.content[${index}]`);
    if (part.type === 'image' || part.text !== '') parts.push(part);
  }
  const last = parts.at(-1);
  // Some clients mark the whole message, which means its end.
  if (last !== undefined) Object.assign(last, { ...cacheControlOf(message, at), ...last });
  return {
    parts,
    text: parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    images: parts.filter((part) => part.type === 'image'),
  };
}

function partOf(part: unknown, at: string): ChatPart {
  if (typeof part === 'string') return { type: 'text', text: part };
  if (isFields(part) && typeof part.text === 'string') {
    return { type: 'text', text: part.text, ...cacheControlOf(part, at) };
  }
  const image = isFields(part) ? imageOf(part, at) : null;
  if (image !== null) return image;
  throw new RequestError(`${at} is neither text nor an image as a data URL (data:image/…;base64,…)`);
}

/**
 * `{type: 'image_url', image_url: {url: 'data:image/png;base64,…'}}`. Other addresses would have to be fetched and are
 * refused.
 */
function imageOf(part: Fields, at: string): ChatImage | null {
  const { image_url: image } = part;
  const { url, detail } = isFields(image) ? image : { url: image, detail: undefined };
  const [, mediaType, base64] =
    (typeof url === 'string' && /^data:(image\/[\w.+-]+);base64,(.+)$/s.exec(url)) || [];
  if (mediaType === undefined || base64 === undefined) return null;
  return {
    type: 'image',
    mediaType,
    base64,
    ...(typeof detail === 'string' ? { detail } : {}),
    ...cacheControlOf(part, at),
  };
}

/** @throws RequestError when it is not an object. */
export function cacheControlOf({ cache_control: control }: Fields, at: string): Cacheable {
  if (control === undefined || control === null) return {};
  if (isFields(control)) return { cacheControl: control };
  throw new RequestError(`${at}.cache_control must be an object, such as {type: "ephemeral"}`);
}

/** Read by Anthropic's SDK; others ignore it. */
export function cacheOption(cacheControl: Fields | undefined): { providerOptions?: SharedV4ProviderOptions } {
  return cacheControl === undefined
    ? {}
    : { providerOptions: { anthropic: { cacheControl: cacheControl as JSONObject } } };
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
