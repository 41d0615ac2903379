import { resolve } from 'node:path';
import { messageOf } from '../../domain/errors.ts';

/**
 * Run by npm after an install. An install without development dependencies has no Vite, and a platform may lack its
 * native parts: the coordinator also runs without its dashboard, so that is reported and does not fail the install.
 */
try {
  const { build } = await import('vite');
  await build({ root: resolve(import.meta.dirname, '..'), logLevel: 'warn' });
  await build({ root: resolve(import.meta.dirname, '../../companion/page'), logLevel: 'warn' });
} catch (error) {
  process.stderr.write(
    `The dashboard was not built: ${messageOf(error)}\nUntil \`npm run build\` works the coordinator serves a plain page.\n`,
  );
}
