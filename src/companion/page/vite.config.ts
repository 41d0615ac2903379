import { resolve } from 'node:path';
import { defineConfig } from 'vite';

/** The page of the companion, to dist/companion. */
export default defineConfig({
  // Relative: the page is under a secret folder, another one at every start.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: resolve(import.meta.dirname, '../../../dist/companion'),
    emptyOutDir: true,
    target: 'es2022',
    // The strict policy of the page allows no data: URL.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
