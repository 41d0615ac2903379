import type { Assignment } from '../../../domain/workerProtocol.ts';

/** The texts and token counts of the echo. They depend on the job alone. */

const promptShownMax = 500;
const sentenceShownMax = 300;

/** The job's texts: the prompt, the input, and everything that counts as input tokens. */
export interface EchoSource {
  asked: string;
  about: string | null;
  counted: string[];
}

/** @returns null when the job has neither a prompt nor a message with text. */
export function sourceOf(assignment: Assignment): EchoSource | null {
  const { prompt, input, messages } = assignment;
  if (prompt !== null)
    return { asked: prompt, about: input, counted: input === null ? [prompt] : [prompt, input] };
  const texts = (messages ?? []).map((message) => ({ role: message.role, text: textOf(message.content) }));
  const asked = texts.findLast((message) => message.role === 'user') ?? texts.at(-1);
  if (!asked) return null;
  return {
    asked: asked.text,
    about: input,
    counted: texts.map((message) => message.text).concat(input ?? []),
  };
}

/** The text of a message's content: a string, or a list of parts of which those with a text count. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: unknown) => partText(part)).join(' ');
}

function partText(part: unknown): string {
  if (typeof part === 'string') return part;
  if (typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string')
    return part.text;
  return '';
}

/** The answer: that it is an echo, the prompt, the start of the input and its length. */
export function answerTo(source: EchoSource): string {
  const said = `This is an echo and not a language model. The prompt was: "${shorten(source.asked, promptShownMax)}".`;
  if (source.about === null) return said;
  const words = countWords(source.about);
  if (words === 0) return `${said} The input is empty.`;
  const begins = shorten(firstSentence(source.about), sentenceShownMax);
  return `${said} The input has ${words} ${words === 1 ? 'word' : 'words'} and begins: "${begins}".`;
}

function shorten(text: string, max: number): string {
  const trimmed = text.trim();
  if (trimmed.length <= max) return trimmed;
  // Never between the halves of a surrogate pair.
  const end = isHighSurrogate(trimmed.charCodeAt(max - 1)) ? max - 1 : max;
  return `${trimmed.slice(0, end)}…`;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

/** Searches only the beginning: an input may be a megabyte. */
function firstSentence(text: string): string {
  const beginning = text.slice(0, 4 * sentenceShownMax).trim();
  const end = /[.!?](?=\s|$)|\n/.exec(beginning);
  if (!end) return beginning;
  return beginning.slice(0, end[0] === '\n' ? end.index : end.index + 1);
}

function countWords(text: string): number {
  let words = 0;
  let inWord = false;
  for (let i = 0; i < text.length; i++) {
    const isWord = text.charCodeAt(i) > 32;
    if (isWord && !inWord) words++;
    inWord = isWord;
  }
  return words;
}

/** 0 white space, 1 punctuation, 2 part of a word. Everything beyond ASCII is part of a word. */
function kindOf(code: number): 0 | 1 | 2 {
  if (code <= 32) return 0;
  if (code > 127 || (code >= 48 && code <= 57) || (code >= 97 && code <= 122) || (code >= 65 && code <= 90))
    return 2;
  return 1;
}

/**
 * How the echo counts: a run of letters, digits and characters beyond ASCII is one token, every ASCII punctuation mark
 * is one, white space is none. `"It's 20 %!"` has 6. About 2 ms a megabyte.
 */
export function countTokens(text: string): number {
  let tokens = 0;
  let before = 0;
  for (let i = 0; i < text.length; i++) {
    const kind = kindOf(text.charCodeAt(i));
    if (kind === 1 || (kind === 2 && before !== 2)) tokens++;
    before = kind;
  }
  return tokens;
}

/** The first `max` tokens of `text`; the whole text when it has no more. */
export function cutToTokens(text: string, max: number): string {
  let tokens = 0;
  let before = 0;
  for (let i = 0; i < text.length; i++) {
    const kind = kindOf(text.charCodeAt(i));
    if ((kind === 1 || (kind === 2 && before !== 2)) && ++tokens > max) return text.slice(0, i).trimEnd();
    before = kind;
  }
  return text;
}

/** The text in words, each with the white space before it: joined, they are the text. */
export function wordsOf(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}
