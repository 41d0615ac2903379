import { type Schema, ValidationError } from 'yup';
import './yupMessages.ts';
import { fastCheck } from './fastCheck.ts';
import { type Fields, isFields, parseFields } from './fields.ts';
import { exceededLimit, type JsonLimits } from './jsonLimits.ts';

/**
 * Characters. For a longer frame only the first fault is reported: yup keeps some 3 KB for each, and a long list may
 * have a hundred thousand.
 */
const longFrame = 4096;
const notObject = 'a frame must be one JSON object';

const exceededTexts: Record<keyof JsonLimits, (max: number) => string> = {
  depth: (max) => `a frame must not nest deeper than ${max} levels`,
  members: (max) => `a frame must have at most ${max} lists, objects and members of them`,
  plain: (max) => `a frame must have at most ${max} characters outside of its strings`,
};

/**
 * Reads the text frames of a socket by their `type`. A frame that exceeds `limits` is refused before it is parsed.
 * Fields that a schema does not name pass: the other side may be newer.
 * `read` takes a text; `check` takes what was an item of another frame.
 * @returns the frame, or one sentence about what is wrong with it; the sentence quotes no value.
 */
export function frameReader<F extends { type: string }>(
  schemas: Record<F['type'], Schema>,
  { limits }: { limits: JsonLimits },
): { read: (text: string) => F | string; check: (frame: unknown) => F | string } {
  const types = Object.keys(schemas) as F['type'][];
  // A result takes some 30 µs in yup, which was a tenth of all that a job cost.
  const readers = new Map(
    types.map((type) => [type, { schema: schemas[type], isRight: fastCheck(schemas[type]) }]),
  );
  const checked = (fields: Fields, length: number): F | string => {
    const { type } = fields;
    const reader = readers.get(type as F['type']);
    if (reader === undefined) return `a frame must have a type: one of ${types.join(', ')}`;
    const frame: unknown = fields;
    if (reader.isRight(frame)) return frame as F;
    try {
      reader.schema.validateSync(frame, { strict: true, abortEarly: length > longFrame });
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error;
      const faults = error.inner.length > 0 ? error.inner : [error];
      return `${type}: ${faults.map(({ path, message }) => `${path} ${message}`).join('; ')}`;
    }
    return frame as F;
  };
  return {
    read: (text) => {
      const exceeded = exceededLimit(text, limits);
      if (exceeded !== null) return exceededTexts[exceeded](limits[exceeded]);
      const fields = parseFields(text);
      return fields === null ? notObject : checked(fields, text.length);
    },
    // Its length is not known.
    check: (frame) => (isFields(frame) ? checked(frame, longFrame + 1) : notObject),
  };
}
