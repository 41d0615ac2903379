import { apiKey } from '../support/processes.ts';

/** One request outside of the load. @returns the answer's text. @throws when its status is none of these. */
export async function ask(
  url: string,
  method: string,
  path: string,
  statuses: readonly number[],
  body?: object,
): Promise<string> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await fetch(url + path, { method, headers, ...init });
  const text = await answer.text();
  if (!statuses.includes(answer.status))
    throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
  return text;
}
