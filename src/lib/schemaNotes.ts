import type { ISchema } from 'yup';

/** Whether a value that is there passes a test, for certain. */
export type FastTest = (value: never) => boolean;

/** What a schema of yup says of itself in `meta`. */
export interface SchemaNotes {
  /** For people, in the document of the API. */
  description?: string;
  /** Keywords of JSON Schema for what yup's own description does not tell, such as tests of our own. */
  json?: Readonly<Record<string, unknown>>;
  /** The document refers to this in its place. */
  shape?: { readonly schema: Readonly<Record<string, unknown>> };
  /** Of a list that is looked at only when it has at most `max` items: what it must be then. */
  list?: { max: number; schema: Pick<ISchema<unknown>, 'describe'> };
  /**
   * Of each test of our own, by its name: the same as a function. What the test says of a value that is left out is not asked:
   * it must accept it. Of a schema that is `lazy` and no bounded list: the whole check, under `lazy`.
   */
  fast?: Readonly<Record<string, FastTest>>;
  /** Of a schema that is `lazy`: whether it must be there. */
  isRequired?: boolean;
}

declare module 'yup' {
  interface CustomSchemaMetadata extends SchemaNotes {}
}
