const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether a text is a whole UUID. Case does not count: https://www.rfc-editor.org/rfc/rfc9562#section-4 */
export function isUuid(text: string): boolean {
  return pattern.test(text);
}
