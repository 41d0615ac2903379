const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Characters that take two columns on a terminal: East Asian wide ones (UAX #11) and emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
const zero = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;
const ascii = /^[ -~]*$/;

/** Columns that a line without control characters takes on a terminal. */
export function textWidth(text: string): number {
  if (ascii.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += widthOf(segment);
  return width;
}

/** Cut a line to `max` columns; a cut line ends with `…`. */
export function cutToWidth(text: string, max: number): string {
  if (max <= 0) return '';
  if (text.length <= max && ascii.test(text)) return text;
  let width = 0;
  let kept = '';
  let cut = '';
  for (const { segment } of segmenter.segment(text)) {
    width += widthOf(segment);
    if (width > max) return `${cut.trimEnd()}…`;
    kept += segment;
    if (width < max) cut = kept;
  }
  return text;
}

function widthOf(grapheme: string): number {
  if (zero.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
}
