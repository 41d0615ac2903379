import { execFile } from 'node:child_process';
import { cpSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { temporaryFolder } from '../support/folder.ts';
import { adminKey } from '../support/process.ts';
import { startHere } from '../support/service.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const programs = join(root, 'test/clients');
const document = join(root, 'docs/openapi.yaml');
/** Where the packages of test/clients are: its generators need an older TypeScript than the project has. */
const { resolve } = createRequire(join(programs, 'package.json'));
/** The file of a program that a package brings. */
const program = (name: string, path: string) => join(resolve(`${name}/package.json`), '..', path);

/** What the compiler is told: as strict as this project, and able to run as it is. */
const compilerOptions = {
  target: 'es2024',
  lib: ['es2024', 'dom', 'dom.iterable'],
  module: 'nodenext',
  types: ['node'],
  noEmit: true,
  strict: true,
  noUncheckedIndexedAccess: true,
  erasableSyntaxOnly: true,
  verbatimModuleSyntax: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
};

/** A program of Node's that says why it failed. */
async function node(cwd: string, args: readonly string[], env: Record<string, string> = {}): Promise<void> {
  await run(process.execPath, args, { cwd, env: { ...process.env, ...env } }).catch(
    (error: { stdout: string; stderr: string }) => {
      throw new Error(`${args.join(' ')}\n${error.stdout}${error.stderr}`.slice(0, 4_000));
    },
  );
}

test('clients that are generated from the document compile with every type, and work', async (t) => {
  const folder = temporaryFolder(t);
  for (const name of ['withOpenapiFetch.ts', 'withHeyApi.ts'])
    cpSync(join(programs, name), join(folder, name));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  const hey = { input: document, output: { path: 'hey', importFileExtension: '.ts' } };
  writeFileSync(join(folder, 'hey.config.mjs'), `export default ${JSON.stringify(hey)};`);

  const { url } = await startHere(t, { workers: 4 });
  await Promise.all([
    node(folder, [program('openapi-typescript', 'bin/cli.js'), document, '-o', 'schema.d.ts']),
    node(folder, [program('@hey-api/openapi-ts', 'bin/run.js'), '-f', 'hey.config.mjs', '--no-log-file']),
  ]);
  await node(folder, [join(root, 'node_modules/typescript/bin/tsc'), '-p', '.']);
  const env = { SVC_URL: url, SVC_KEY: adminKey };
  await t.notThrowsAsync(node(folder, ['withOpenapiFetch.ts'], env));
  await t.notThrowsAsync(node(folder, ['withHeyApi.ts'], env));
});
