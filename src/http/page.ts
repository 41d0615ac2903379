import type { Middleware } from 'koa';
import { version } from '../lib/version.ts';

/** The page of a coordinator whose dashboard is not built: what this is and where to go on. It holds no data. */
const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>SVC coordinator</title>
</head>
<body>
<main>
<h1>SVC coordinator</h1>
<p>This is version ${version} of the job coordinator for language models. It is running.</p>
<p>The API is under <code>/api</code> and takes a key: <code>Authorization: Bearer &lt;key&gt;</code>.
<a href="/health">/health</a> tells its state.</p>
<p>On the command line: <code>svc jobs list</code>, <code>svc workers list</code>, <code>svc doctor</code>.</p>
</main>
</body>
</html>
`;

const apiPath = /^\/(api|v1|metrics|ws)(\/|$)/;

/** Outside the API a browser gets the page, so that links into it work. */
export function page(): Middleware {
  return (ctx, next) => {
    const isPage = ctx.path === '/' || (!apiPath.test(ctx.path) && ctx.get('Accept').includes('text/html'));
    if (!isPage || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next();
    ctx.set(
      'Content-Security-Policy',
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    ctx.type = 'text/html; charset=utf-8';
    ctx.body = html;
    return Promise.resolve();
  };
}
