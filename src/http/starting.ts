import type { RequestListener } from 'node:http';
import type { ShownError } from './door.ts';

/** Why a request is not answered yet. */
export const startingText = 'The coordinator is starting; try again in a moment';
/** Seconds after which a client should retry. */
const retryAfterSeconds = 1;

const problem: ShownError = {
  status: 503,
  type: 'application/problem+json',
  headers: {},
  text: JSON.stringify({
    type: 'about:blank',
    title: 'Service Unavailable',
    status: 503,
    detail: startingText,
    code: 'starting',
  }),
};

/** Refuses every request until there is something to serve. @param doors what those of other forms answer, by their path. */
export function refuseWhileStarting(doors: Readonly<Record<string, ShownError>>): RequestListener {
  return ({ url = '' }, response) => {
    const [path = ''] = url.split('?', 1);
    const own = Object.entries(doors).find(([root]) => path === root || path.startsWith(`${root}/`));
    const { status, type, headers, text } = own?.[1] ?? problem;
    response.writeHead(status, {
      ...headers,
      'Content-Type': type,
      'Retry-After': retryAfterSeconds,
      Connection: 'close',
    });
    response.end(text);
  };
}
