import { addTo, type ChunkPart, isTextOnly, lengthOfPart } from '../domain/chunkParts.ts';
import { nameLengthMax } from '../domain/limits.ts';
import { chunkPartsMax, outputBytesMax, toolCallsMax } from '../domain/workerProtocol.ts';
import { cutText } from '../lib/cutText.ts';

/** Characters of a frame, far below what the coordinator takes and keeps. The rest waits for the next. */
const frameLengthMax = 64 * 1024;
/** Characters of reasoning and tool calls of one run that may wait. */
const besidesTextMax = outputBytesMax;

type BesidesText = Exclude<ChunkPart, { type: 'text' }>;

/** What the next frame takes, and what then remains. */
interface Split {
  parts: ChunkPart[];
  rest: ChunkPart[];
}

/** The output of a run that was not sent yet, in order. */
export class Unsent {
  /** Ours alone: the last one grows. */
  #parts: ChunkPart[] = [];
  /** Characters of `#parts` besides text. */
  #besidesText = 0;
  #isOverfull = false;

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  addText(text: string): void {
    const last = this.#parts.at(-1);
    if (last?.type === 'text') last.text += text;
    else this.#parts.push({ type: 'text', text });
  }

  /**
   * Add a piece of reasoning or of a tool call. When too much of both waits, no more is taken for the rest of the run:
   * without a connection they would fill the memory. Text is never longer than an output may be.
   */
  add(piece: BesidesText): void {
    if (this.#isOverfull) return;
    const part = piece.type === 'tool_call' ? bounded(piece) : { ...piece };
    if (part === null) return;
    const length = lengthOfPart(part);
    this.#isOverfull = this.#besidesText + length > besidesTextMax;
    if (length === 0 || this.#isOverfull) return;
    this.#besidesText += length;
    const last = this.#parts.at(-1);
    if (last === undefined || !addTo(last, part)) this.#parts.push(part);
  }

  /** Drop everything but the text: the coordinator takes nothing else. */
  keepText(): void {
    const parts = this.#parts;
    if (isTextOnly(parts)) return;
    this.clear();
    for (const part of parts) if (part.type === 'text') this.addText(part.text);
  }

  clear(): void {
    this.#parts = [];
    this.#besidesText = 0;
  }

  /** What goes into the next frame. It stays here until `sent`. */
  next(): Split {
    const parts: ChunkPart[] = [];
    let room = frameLengthMax;
    for (const part of this.#parts) {
      const length = lengthOfPart(part);
      const isCut = length > room;
      if (isCut || parts.length === chunkPartsMax) {
        const [head, tail] = isCut ? cutPart(part, room) : [null, part];
        if (head === null) return { parts, rest: this.#parts.slice(parts.length) };
        return { parts: [...parts, head], rest: [tail, ...this.#parts.slice(parts.length + 1)] };
      }
      parts.push(part);
      room -= length;
    }
    return { parts, rest: [] };
  }

  /** What `next` has returned was sent. */
  sent({ parts, rest }: Split): void {
    for (const part of parts) if (part.type !== 'text') this.#besidesText -= lengthOfPart(part);
    this.#parts = rest;
  }
}

/** A piece of a call in the bounds of a frame; null for a call that a result has no room for. */
function bounded({ type, index, id, name, arguments: json }: Extract<ChunkPart, { type: 'tool_call' }>) {
  if (index >= toolCallsMax) return null;
  return {
    type,
    index,
    ...(id === undefined ? {} : { id: cutText(id, nameLengthMax) }),
    ...(name === undefined ? {} : { name: cutText(name, nameLengthMax) }),
    arguments: json,
  };
}

/**
 * A part that is too long for the room, in two. The first is null when nothing of it fits: the id and name of a call
 * are not divided.
 */
function cutPart(part: ChunkPart, room: number): [head: ChunkPart | null, tail: ChunkPart] {
  if (part.type !== 'tool_call') {
    if (room === 0) return [null, part];
    return [
      { ...part, text: part.text.slice(0, room) },
      { ...part, text: part.text.slice(room) },
    ];
  }
  const { type, index, arguments: json } = part;
  const size = room - (lengthOfPart(part) - json.length);
  if (size <= 0) return [null, part];
  return [
    { ...part, arguments: json.slice(0, size) },
    { type, index, arguments: json.slice(size) },
  ];
}
