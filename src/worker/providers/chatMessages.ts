import type { Assignment } from '../../domain/workerProtocol.ts';

/** One message of a chat: its text, and what was said in other forms. */
export interface ChatMessage {
  role: string;
  text: string;
  /** Base64, without a `data:` before it. */
  images: string[];
}

/** A message that this provider cannot take. The text says which and why, and nothing of its content. */
export class MessageError extends Error {}

/**
 * The messages of a job: its own ones, or its prompt and input. With both, the prompt is the system message and the input
 * the user's; a prompt alone is the user's.
 * @returns an empty list when the job has neither.
 * @throws MessageError.
 */
export function chatMessages({ messages, prompt, input }: Assignment): ChatMessage[] {
  if (messages !== null) return messages.map(({ role, content }, index) => read(role, content, index));
  const said = (role: string, text: string | null): ChatMessage[] =>
    text === null || text === '' ? [] : [{ role, text, images: [] }];
  return input === null || input === ''
    ? said('user', prompt)
    : [...said('system', prompt), ...said('user', input)];
}

function read(role: string, content: unknown, index: number): ChatMessage {
  if (typeof content === 'string' || content === null || content === undefined) {
    return { role, text: content ?? '', images: [] };
  }
  if (!Array.isArray(content))
    throw new MessageError(`messages[${index}].content is neither text nor a list`);
  const message: ChatMessage = { role, text: '', images: [] };
  for (const part of content as unknown[]) {
    const text = textOf(part);
    const image = text === null ? imageOf(part) : null;
    if (text !== null) message.text += text;
    else if (image !== null) message.images.push(image);
    else throw new MessageError(`messages[${index}].content has a part that is neither text nor an image`);
  }
  return message;
}

function textOf(part: unknown): string | null {
  if (typeof part === 'string') return part;
  const isText = typeof part === 'object' && part !== null && 'text' in part;
  return isText && typeof part.text === 'string' ? part.text : null;
}

/** `{type: 'image_url', image_url: {url: 'data:image/png;base64,…'}}`. An address would have to be fetched; it is not taken. */
function imageOf(part: unknown): string | null {
  if (typeof part !== 'object' || part === null || !('image_url' in part)) return null;
  const { image_url: image } = part;
  const url = typeof image === 'object' && image !== null && 'url' in image ? image.url : image;
  return typeof url === 'string' ? (/^data:image\/[\w.+-]+;base64,(.+)$/s.exec(url)?.[1] ?? null) : null;
}
