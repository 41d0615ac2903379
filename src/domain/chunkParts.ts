/** What streamed output is made of: text, what the model thinks before it answers, and the calls of tools. */

export interface TextPart {
  type: 'text';
  text: string;
}

export interface ReasoningPart {
  type: 'reasoning';
  text: string;
}

/** A piece of a tool call. `id` and `name` come with the first piece of a call. */
export interface ToolCallPart {
  type: 'tool_call';
  /** Of the call among `tool_calls` of the result, from 0. */
  index: number;
  id?: string | undefined;
  name?: string | undefined;
  /** The next piece of the JSON text. */
  arguments: string;
}

export type ChunkPart = TextPart | ReasoningPart | ToolCallPart;

/** The text alone: what clients that know nothing of parts show. */
export function textOfParts(parts: readonly ChunkPart[]): string {
  const [first] = parts;
  if (parts.length === 1 && first?.type === 'text') return first.text;
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Whether the text alone says everything. */
export function isTextOnly(parts: readonly ChunkPart[]): boolean {
  for (const { type } of parts) if (type !== 'text') return false;
  return true;
}

/** Characters of a part. */
export function lengthOfPart(part: ChunkPart): number {
  if (part.type !== 'tool_call') return part.text.length;
  return part.arguments.length + (part.id?.length ?? 0) + (part.name?.length ?? 0);
}

/** The same with parts that go on with the one before joined to it: what a viewer sees. */
export function joinedParts(parts: readonly ChunkPart[]): ChunkPart[] {
  const joined: ChunkPart[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (last === undefined || !addTo(last, part)) joined.push({ ...part });
  }
  return joined;
}

/** Add a part to the one before it. @returns false when they belong apart. */
export function addTo(last: ChunkPart, part: ChunkPart): boolean {
  if (last.type === 'tool_call') {
    const goesOn =
      part.type === 'tool_call' &&
      part.index === last.index &&
      part.id === undefined &&
      part.name === undefined;
    if (goesOn) last.arguments += part.arguments;
    return goesOn;
  }
  if (part.type !== last.type) return false;
  last.text += part.text;
  return true;
}
