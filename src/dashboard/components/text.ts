const whole = new Intl.NumberFormat('en-US');
const compactForm = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

/** `12,345`. */
export function count(value: number): string {
  return whole.format(value);
}

/** `12.3K`, where space is short. */
export function compact(value: number): string {
  return value < 10_000 ? whole.format(value) : compactForm.format(value);
}

/** `1 job`, `2,000 jobs`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Dollars with two significant digits, also below a cent. null is unknown. */
export function dollars(value: number | null): string {
  if (value === null) return 'unknown';
  if (value === 0) return '$0';
  const size = Math.abs(value);
  if (size >= 1)
    return `$${value.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  if (size < 0.000_001) return '< $0.000001';
  const digits = Math.min(8, Math.ceil(-Math.log10(size)) + 1);
  return `$${value.toFixed(digits)}`;
}

/** A shortened id: the start, and the end, where ids of the same moment differ. */
export function shortId(id: string): string {
  return id.length <= 13 ? id : `${id.slice(0, 8)}…${id.slice(-4)}`;
}

/**
 * The start of a text. A character outside of the basic plane, such as an emoji, is not cut in two. @param max UTF-16
 * units.
 */
export function beginning(text: string, max: number): string {
  return text.slice(0, max).replace(/[\uD800-\uDBFF]$/, '');
}
