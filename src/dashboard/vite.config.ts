import { resolve } from 'node:path';
import { defineConfig } from 'vite';
import { compress } from './build/compress.ts';

const root = resolve(import.meta.dirname, '../..');

/**
 * The dashboard's build, to dist/dashboard. `npm run build` runs it, and so does `npm ci` (prepare). To work on the
 * pages: `npx vite src/dashboard` beside a coordinator on 127.0.0.1:7420.
 */
export default defineConfig({
  // Relative, so that the page works under any path of a proxy; index.html's <base> says how deep it is.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: resolve(root, 'dist/dashboard'),
    emptyOutDir: true,
    target: 'es2022',
    // The strict policy of the page allows no data: URL.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  server: {
    proxy: {
      '/api': 'http://127.0.0.1:7420',
      '/health': 'http://127.0.0.1:7420',
      // The coordinator only accepts sockets from pages of its own origin.
      '/ws': { target: 'http://127.0.0.1:7420', ws: true, changeOrigin: true, rewriteWsOrigin: true },
    },
  },
  plugins: [compress()],
});
