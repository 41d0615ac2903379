import { stripVTControlCharacters } from 'node:util';

/**
 * Text that cannot control a terminal: no escape sequence, and no control character except line ends and tabs. What a
 * model or a stranger wrote could otherwise move the cursor, retitle the window or fill the clipboard.
 */
export function plainText(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/[^\P{Cc}\n\t]/gu, '');
}

/** The same on one line, for cells and status lines; also without marks that change the direction of text. */
export function plainLine(text: string): string {
  // White space first: a carriage return must leave a gap between two words.
  return plainText(text.replaceAll(/\s+/g, ' '))
    .replaceAll(/\p{Bidi_Control}/gu, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/**
 * JSON that is safe on a terminal. It means the same: JSON.stringify leaves only DEL and the C1 range as they are.
 * @param indent 0 for one line.
 */
export function safeJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent).replaceAll(/[^\P{Cc}\n]/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
