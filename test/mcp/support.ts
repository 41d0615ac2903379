import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ExecutionContext } from 'ava';
import { isFields } from '../../src/lib/fields.ts';
import { adminKey } from '../support/process.ts';

/** Both eras of the protocol: `initialize` of 2025-11-25 and older, and requests that stand alone since 2026-07-28. */
export const eras = ['legacy', 'modern'] as const;
export type Era = (typeof eras)[number];

/** What a tool returned. */
export interface CallResult {
  isError: boolean;
  /** The result for programs; nothing in an error. */
  structured: Record<string, unknown>;
  /** The blocks of text, joined. */
  text: string;
}

/** A client of the official SDK, with what the tests ask of it. */
export interface McpClient {
  sdk: Client;
  call(
    name: string,
    args?: Record<string, unknown>,
    options?: Parameters<Client['callTool']>[1],
  ): Promise<CallResult>;
}

export function newClient(era: Era): Client {
  const mode = era === 'legacy' ? 'legacy' : { pin: '2026-07-28' };
  return new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
}

/** Connect over HTTP; closed with the test. */
export async function connectHttp(
  t: ExecutionContext,
  url: string,
  { era = 'modern', key = adminKey }: { era?: Era; key?: string } = {},
): Promise<McpClient> {
  const sdk = newClient(era);
  t.teardown(() => sdk.close());
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await sdk.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  return wrapped(sdk);
}

export function wrapped(sdk: Client): McpClient {
  return {
    sdk,
    call: async (name, args = {}, options) => {
      const {
        isError = false,
        structuredContent,
        content,
      } = await sdk.callTool({ name, arguments: args }, options);
      const texts = content.map((block) => (block.type === 'text' ? block.text : ''));
      return {
        isError,
        structured: isFields(structuredContent) ? { ...structuredContent } : {},
        text: texts.join('\n'),
      };
    },
  };
}

/** POST /mcp without an SDK. */
export function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${adminKey}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}
