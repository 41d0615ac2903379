/**
 * The parameters of a path for a pattern, `/jobs/:id`; null when it does not match. A trailing slash makes no
 * difference.
 */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split('/').filter(Boolean);
  const given = path.split('/').filter(Boolean);
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const text = given[index] ?? '';
    if (part.startsWith(':')) params[part.slice(1)] = decode(text);
    else if (part !== text) return null;
  }
  return params;
}

/** An invalid escape is kept: a mistyped address must not break the page. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
