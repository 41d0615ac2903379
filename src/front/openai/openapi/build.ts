import { writeFileSync } from 'node:fs';
import { yamlOf } from '../../../http/openapi/yaml.ts';
import { openAiDoor } from '../index.ts';
import { openAiDocument } from './document.ts';

/** `npm run openapi`: writes docs/openai.openapi.yaml from the routes of the door. */
const target = new URL('../../../../docs/openai.openapi.yaml', import.meta.url);

writeFileSync(target, yamlOf(openAiDocument(openAiDoor().routes), 'src/front/openai'));
