/**
 * The first `max` characters of a text, copied: a slice would keep the whole of a long text in memory. Half of a
 * surrogate pair at the end is dropped.
 */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  const cut = text.slice(0, max);
  const last = cut.charCodeAt(max - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return Buffer.from(isHalf ? cut.slice(0, -1) : cut, 'utf16le').toString('utf16le');
}
