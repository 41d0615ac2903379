/**
 * The file of a thread, beside the file that starts it. In the npm package it is compiled as that one is.
 * @param name `./checkpointWorker.ts`. @param base `import.meta.url` of the file that starts it.
 */
export function threadFile(name: `./${string}.ts`, base: string): URL {
  return new URL(base.endsWith('.js') ? name.replace(/ts$/, 'js') : name, base);
}
