/** Whether texts together exceed this many bytes of UTF-8. */
export function isLargerThan(bytesMax: number, texts: readonly string[]): boolean {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  // UTF-8 takes at most three bytes a UTF-16 unit, so most texts need no counting.
  return length * 3 > bytesMax && texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) > bytesMax;
}
