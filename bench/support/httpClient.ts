import { Agent, request } from 'node:http';

/**
 * Requests one after the other on one connection that is kept: enough for a steady load and for asking, and nothing to
 * install. For as many requests as a server can answer there is `LeanClient`.
 */
export class HttpClient {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string, headers: Record<string, string>, timeoutMs: number) {
    this.#url = url;
    this.#headers = headers;
    this.#timeoutMs = timeoutMs;
  }

  /** @returns the answer's text. @throws when its status is another than `status`, or none comes in time. */
  send(method: 'GET' | 'PATCH' | 'POST', path: string, body: string, status: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = { ...this.#headers, 'content-length': Buffer.byteLength(body) };
      const sent = request(this.#url + path, { method, headers, agent: this.#agent }, (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => (text += chunk));
        answer.on('error', reject);
        answer.on('end', () => {
          if (answer.statusCode === status) resolve(text);
          else reject(new Error(`${method} ${path} answered ${answer.statusCode}: ${text}`));
        });
      });
      sent.setNoDelay(true);
      sent.setTimeout(this.#timeoutMs, () => {
        sent.destroy(new Error(`${method} ${path}: no answer in ${this.#timeoutMs} ms`));
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  destroy(): void {
    this.#agent.destroy();
  }
}
