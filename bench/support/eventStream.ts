import { type Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { apiKey } from './processes.ts';

/** A stream that says nothing in this time fails the run, ms. */
const silentMsMax = 30_000;

export interface Piece {
  /** What has come, of one event or several. */
  text: string;
  /** ms of `performance.now()`. */
  at: number;
}

/** An event stream as a request asked for it. */
interface Asked {
  method: 'GET' | 'POST';
  url: string;
  body?: string;
  /** Beside the key. */
  headers?: Record<string, string>;
  /** What it is answered with; 200 by default. */
  status?: number;
  agent: Agent;
  onPiece: (piece: Piece) => void;
}

/** Read an event stream to its end. @returns when its headers were there. @throws when it is refused or breaks off. */
export function readStream(asked: Asked): Promise<number> {
  const { method, url, body = '', headers: others = {}, status = 200, agent, onPiece } = asked;
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...others,
    };
    const sent = request(url, { method, headers, agent }, (answer) => {
      const headersAt = performance.now();
      let lastText = '';
      answer.setEncoding('utf8');
      answer.on('data', (text: string) => {
        onPiece({ text, at: performance.now() });
        lastText = text;
        if (text.includes('{"error":{')) reject(new Error(`${url} ended with ${text}`));
      });
      answer.on('error', reject);
      answer.on('end', () => {
        if (answer.statusCode === status) resolve(headersAt);
        else reject(new Error(`${method} ${url} answered ${answer.statusCode}: ${lastText}`));
      });
    });
    sent.setNoDelay(true);
    sent.setTimeout(silentMsMax, () => sent.destroy(new Error(`${url} was silent for ${silentMsMax} ms`)));
    sent.on('error', reject);
    sent.end(body);
  });
}
