import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { array, type InferType, object, string } from 'yup';

const schema = array()
  .of(
    object({
      group: string().required(),
      cases: array()
        .of(
          object({
            id: string().required(),
            /** The test of a peer that asks for it. */
            from: string(),
            /** What must be so. */
            so: string().required(),
            /** `file › title` of the tests that show it. */
            shown: array().of(string().required()).min(1).optional(),
            /** Why there is nothing to show. */
            reason: string(),
          }).noUnknown(),
        )
        .required(),
    }).noUnknown(),
  )
  .required();

export type Group = InferType<typeof schema>[number];
export type Case = Group['cases'][number];

/** What the service is held to, from cases.yaml. @throws ValidationError when that is of another form. */
export const groups: readonly Group[] = schema.validateSync(
  parse(readFileSync(join(import.meta.dirname, 'cases.yaml'), 'utf8')),
  { strict: true },
);
