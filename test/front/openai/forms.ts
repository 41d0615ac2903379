import { request as httpRequest } from 'node:http';
import { adminKey } from '../../support/process.ts';

/** A form by hand, in the order of its parts. */
export function formOf(parts: readonly string[], boundary = 'x'): string {
  return `${parts.map((part) => `--${boundary}\r\n${part}\r\n`).join('')}--${boundary}--\r\n`;
}
const disposition = 'Content-Disposition: form-data; name=';
export const field = (name: string, value: string): string => `${disposition}"${name}"\r\n\r\n${value}`;
export const filePart = (name: string, bytes: string): string =>
  `${disposition}"file"; filename="${name}"\r\nContent-Type: application/x\r\n\r\n${bytes}`;

/** All of a form before the bytes of its file. */
const formHead = `--x\r\n${field('purpose', 'batch')}\r\n--x\r\n${filePart('a.jsonl', '')}`;
/** And what follows them. */
export const formEnd = '\r\n--x--\r\n';

/** An upload whose bytes come one piece after the other. */
export function uploading({ url }: { url: string }, key = adminKey) {
  const request = httpRequest(`${url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'multipart/form-data; boundary=x' },
  });
  request.on('error', () => {});
  request.write(formHead);
  const answer = new Promise<number>((resolve, reject) => {
    request.once('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.once('error', reject);
  });
  answer.catch(() => {});
  return { request, answer };
}
