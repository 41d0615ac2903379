import { writeFileSync } from 'node:fs';
import { openApi } from '../app.ts';
import { yamlOf } from './yaml.ts';

/** `npm run openapi`: writes docs/openapi.yaml from the routes. */
const target = new URL('../../../docs/openapi.yaml', import.meta.url);

writeFileSync(target, yamlOf(openApi()));
