import { hash } from 'node:crypto';
import type { Answer } from './route.ts';

/**
 * JSON with a strong ETag, or 304 when the client has it already (RFC 9110, 13.1.2: `If-None-Match` compares weakly).
 * @param ifNoneMatch the header as it came.
 */
export function tagged<T>(json: T, ifNoneMatch: string | undefined): Answer<T> {
  const etag = `"${hash('sha256', JSON.stringify(json), 'base64url')}"`;
  const known = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  const headers = { ETag: etag };
  return known.includes(etag) || known.includes('*')
    ? { status: 304, headers, type: 'application/json', text: '' }
    : { headers, json };
}
