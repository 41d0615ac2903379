import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { reliabilityPage } from './page.ts';

/** `npm run reliability`: writes docs/reliability.md. */
await writeFile(resolve(import.meta.dirname, '../../docs/reliability.md'), reliabilityPage());
