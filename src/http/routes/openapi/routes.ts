import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { tagged } from '../../etag.ts';
import { parseNothing } from '../../query.ts';
import type { Route } from '../../route.ts';

const source = new URL('../../../../docs/openapi.yaml', import.meta.url);

/** Parsed once a process, when it is first asked for: its 1,900 lines take 100 ms, too much for every start. */
let document: Record<string, unknown> | null = null;

function openapi(): Record<string, unknown> {
  document ??= parse(readFileSync(source, 'utf8')) as Record<string, unknown>;
  return document;
}

/** GET /api/openapi.json: docs/openapi.yaml as JSON. */
export function openapiRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/openapi.json',
      role: 'viewer',
      handle: ({ query, headers }) => {
        parseNothing(query);
        return tagged(openapi(), headers['if-none-match']);
      },
    },
  ];
}
