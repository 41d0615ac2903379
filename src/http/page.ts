import type { Context, Middleware } from 'koa';
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
<p>Its dashboard is not built: <code>npm run build</code> does that, and a restart brings it here.</p>
<p>On the command line: <code>svc jobs list</code>, <code>svc workers list</code>, <code>svc doctor</code>.</p>
</main>
</body>
</html>
`;

const apiPath = /^\/(api|v1|metrics|health|ws)(\/|$)/;

/** Whether a browser asks for a page: outside the API it gets one, so that links into it work. */
export function isPageRequest(ctx: Context): boolean {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return false;
  return ctx.path === '/' || (!apiPath.test(ctx.path) && ctx.get('Accept').includes('text/html'));
}

/** What a browser gets when there is no dashboard. */
export function page(): Middleware {
  return (ctx, next) => {
    if (!isPageRequest(ctx)) return next();
    ctx.set(
      'Content-Security-Policy',
      "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    ctx.type = 'text/html; charset=utf-8';
    ctx.body = html;
    return Promise.resolve();
  };
}
