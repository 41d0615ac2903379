/** RFC 6455, 5.5: a control frame has 125 bytes, and the code takes two of them. */
const reasonBytesMax = 123;

/** A text as the reason of a close frame: cut to 123 bytes of UTF-8, never inside a character. */
export function closeReason(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= reasonBytesMax) return text;
  let end = reasonBytesMax;
  // Bytes that begin with 10 continue a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
