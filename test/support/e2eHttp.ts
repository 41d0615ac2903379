import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import type { Problem } from '../../src/domain/wire/problem.ts';
import { checkAnswer } from './openapi.ts';
import { adminKey, within } from './process.ts';

/** An answer, whole. */
export interface HttpAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  /** undefined when the body is no JSON. */
  json: unknown;
}

/**
 * What a client learns of its request.
 * - `answer`: whatever the status says.
 * - `refused`: nobody listened; the request never reached anybody.
 * - `unknown`: the connection broke. It may have been carried out, or not.
 */
export type Attempted =
  | { kind: 'answer'; answer: HttpAnswer }
  | { kind: 'refused' }
  | { kind: 'unknown'; why: string };

export interface Asked {
  method?: string;
  path: string;
  headers?: Record<string, string | string[]>;
  /** Sent as it is. */
  body?: string | Buffer | undefined;
  agent?: Agent | undefined;
}

/**
 * One request over plain node:http, told apart by what its sender may conclude.
 * @throws Error only when the answer is not as docs/openapi.yaml says.
 */
export function attempt(
  port: number,
  { method = 'GET', path, headers = {}, body, agent }: Asked,
): Promise<Attempted> {
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: {
          authorization: `Bearer ${adminKey}`,
          ...(body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
          ...headers,
        },
        // The default agent keeps connections open: what one request did to its own would meet the next.
        agent: agent ?? false,
      },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('error', (error) => resolve({ kind: 'unknown', why: error.message }));
        response.on('end', () => {
          const text = Buffer.concat(parts).toString();
          const { statusCode: status = 0, headers: got } = response;
          try {
            checkAnswer(
              { method, url: `http://127.0.0.1${path}` },
              { status, headers: headersOf(got), text },
            );
          } catch (error) {
            reject(error);
          }
          resolve({ kind: 'answer', answer: { status, headers: got, text, json: parse(text) } });
        });
      },
    );
    asked.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') resolve({ kind: 'refused' });
      else resolve({ kind: 'unknown', why: error.message });
    });
    asked.end(body);
  });
}

function headersOf(headers: IncomingHttpHeaders): Headers {
  return new Headers(Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]));
}

/** The answer to a request that must get one. @throws Error when the connection broke. */
export async function answerTo(port: number, asked: Asked): Promise<HttpAnswer> {
  const attempted = await attempt(port, asked);
  if (attempted.kind === 'answer') return attempted.answer;
  throw new Error(`${asked.method ?? 'GET'} ${asked.path.slice(0, 100)}: ${JSON.stringify(attempted)}`);
}

/** The problem document of an answer. @throws Error when it is none. */
export function problemOf({ headers, json, status, text }: HttpAnswer): Problem {
  const isProblem = String(headers['content-type']).startsWith('application/problem+json');
  if (!isProblem || typeof json !== 'object' || json === null) {
    throw new Error(`${status} is no problem document: ${text.slice(0, 300)}`);
  }
  return json as Problem;
}

/** A pool of connections that stay open, `size` at once. */
export function connections(size: number): Agent {
  return new Agent({ keepAlive: true, maxSockets: size });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Send bytes as they are and read until the other side ends; ask for that with `Connection: close`. */
export function exchange(port: number, bytes: string | Buffer): Promise<{ status: number; text: string }> {
  const reading = new Promise<{ status: number; text: string }>((resolve) => {
    const parts: Buffer[] = [];
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (part: Buffer) => parts.push(part));
    // A reset after the answer: the other side had not read all that was sent.
    socket.on('error', () => {});
    socket.on('close', () => {
      const text = Buffer.concat(parts).toString();
      resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text });
    });
  });
  return within('the connection ends', reading);
}
