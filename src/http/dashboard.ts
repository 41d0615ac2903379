import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { Context, Middleware } from 'koa';
import { filesIn } from '../lib/filesIn.ts';
import { commandElsewhere } from '../lib/ownCommand.ts';
import { projectFolder } from '../lib/projectFolder.ts';
import { isPageRequest } from './page.ts';

/** Where `npm run build` puts the dashboard. */
export const dashboardFolder = join(projectFolder, 'dist/dashboard');

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
};

/** Everything from this address alone, nothing inline, and no text ever becomes HTML or script (trusted types). */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  // One policy, for the address of the service worker alone (src/dashboard/installed.ts).
  'trusted-types svc-offline',
].join('; ');

const indexName = 'index.html';
/** What index.html has for its base: the folder it is in. */
const basePlain = '<base href="./"';
/** How the page names the command line; a build knows only that of a clone. */
const commandPlain = '<meta name="svc-command" content="npm run -s svc --"';
const commandHere = `<meta name="svc-command" content="${commandElsewhere}"`;
const assetsPath = '/assets/';

/** A file of the build with its compressed forms. */
interface StoredFile {
  type: string;
  etag: string;
  bytes: Buffer;
  encoded: Partial<Record<'br' | 'gzip', Buffer>>;
}

/** The built dashboard in memory, by path; it is less than a megabyte. */
export interface DashboardFiles {
  index: string;
  files: ReadonlyMap<string, StoredFile>;
}

/** Read the built dashboard. @returns null when it is not built. */
export function readDashboard(folder: string): DashboardFiles | null {
  const names = filesIn(folder);
  if (!names.includes(indexName)) return null;
  const files = new Map<string, StoredFile>();
  for (const name of names) {
    const type = types[extname(name)];
    if (type === undefined || name === indexName) continue;
    const bytes = readFileSync(join(folder, name));
    const encoded: StoredFile['encoded'] = {};
    if (names.includes(`${name}.br`)) encoded.br = readFileSync(join(folder, `${name}.br`));
    if (names.includes(`${name}.gz`)) encoded.gzip = readFileSync(join(folder, `${name}.gz`));
    files.set(`/${name}`, { type, etag: hash('sha256', bytes, 'base64url'), bytes, encoded });
  }
  return { index: readFileSync(join(folder, indexName), 'utf8'), files };
}

/**
 * Serves the dashboard: its files, and for every path that a browser opens outside the API its one page. Files under
 * assets/ have their hash in the name and are kept by caches for ever; the page is kept by none.
 */
export function dashboard({ index, files }: DashboardFiles): Middleware {
  return (ctx, next) => {
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return next();
    const file = files.get(ctx.path);
    if (file !== undefined) return sendFile(ctx, file);
    // One of an older build, most likely: neither the page nor a question for a key would be an answer.
    if (ctx.path.startsWith(assetsPath)) {
      ctx.status = 404;
      ctx.body = 'There is no such file in this build of the dashboard\n';
      return Promise.resolve();
    }
    return isPageRequest(ctx) ? sendPage(ctx, index) : next();
  };
}

function sendPage(ctx: Context, index: string): Promise<void> {
  setPolicy(ctx);
  ctx.type = 'text/html; charset=utf-8';
  ctx.body = index.replace(basePlain, `<base href="${baseOf(ctx.path)}"`).replace(commandPlain, commandHere);
  return Promise.resolve();
}

/**
 * From the page's path to the root, relative: only so does the page find its files behind a proxy that puts the
 * coordinator under a path of its own.
 */
function baseOf(path: string): string {
  return '../'.repeat(path.split('/').length - 2) || './';
}

function sendFile(ctx: Context, { type, etag, bytes, encoded }: StoredFile): Promise<void> {
  setPolicy(ctx);
  const isHashed = ctx.path.startsWith(assetsPath);
  ctx.set('Cache-Control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache');
  ctx.set('Vary', 'Accept-Encoding');
  const encoding = ctx.acceptsEncodings(['br', 'gzip', 'identity']);
  const body = encoding === 'br' || encoding === 'gzip' ? encoded[encoding] : undefined;
  if (body !== undefined && encoding !== false) ctx.set('Content-Encoding', encoding);
  // Another form of the same is another representation (RFC 9110, 8.8.3).
  ctx.etag = body === undefined ? etag : `${etag}-${encoding}`;
  ctx.type = type;
  ctx.status = 200;
  if (ctx.fresh) ctx.status = 304;
  else ctx.body = body ?? bytes;
  return Promise.resolve();
}

function setPolicy(ctx: Context): void {
  ctx.set('Content-Security-Policy', policy);
  ctx.set('Referrer-Policy', 'no-referrer');
  ctx.set('Cross-Origin-Opener-Policy', 'same-origin');
  ctx.set('Cross-Origin-Resource-Policy', 'same-origin');
  ctx.set('Permissions-Policy', 'camera=(), geolocation=(), microphone=(), payment=(), usb=()');
  ctx.set('X-Frame-Options', 'DENY');
  ctx.set('X-Robots-Tag', 'noindex');
}
