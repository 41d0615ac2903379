import { type Schema, ValidationError } from 'yup';
import './yupMessages.ts';
import { type Fields, parseFields } from './fields.ts';
import { exceededLimit, type JsonLimits } from './jsonLimits.ts';

/**
 * Characters. For a longer frame only the first fault is reported: yup keeps some 3 KB for each, and a long list may
 * have a hundred thousand.
 */
const longFrame = 4096;

const exceededTexts: Record<keyof JsonLimits, (max: number) => string> = {
  depth: (max) => `a frame must not nest deeper than ${max} levels`,
  members: (max) => `a frame must have at most ${max} lists, objects and members of them`,
  plain: (max) => `a frame must have at most ${max} characters outside of its strings`,
};

/**
 * Reads the text frames of a socket by their `type`. A frame that exceeds `limits` is refused before it is parsed.
 * Fields that a schema does not name pass: the other side may be newer.
 * @param isPlain whether a frame of a known type is certainly valid; all others are checked by the schemas.
 * @returns the frame, or one sentence about what is wrong with it; the sentence quotes no value.
 */
export function frameReader<F extends { type: string }>(
  schemas: Record<F['type'], Schema>,
  { limits, isPlain }: { limits: JsonLimits; isPlain?: (frame: Fields) => boolean },
): (text: string) => F | string {
  const isType = (type: unknown): type is F['type'] =>
    typeof type === 'string' && Object.hasOwn(schemas, type);
  return (text) => {
    const exceeded = exceededLimit(text, limits);
    if (exceeded !== null) return exceededTexts[exceeded](limits[exceeded]);
    const fields = parseFields(text);
    if (fields === null) return 'a frame must be one JSON object';
    const { type } = fields;
    if (!isType(type)) return `a frame must have a type: one of ${Object.keys(schemas).join(', ')}`;
    const frame: unknown = fields;
    if (isPlain?.(fields) === true) return frame as F;
    try {
      schemas[type].validateSync(frame, { strict: true, abortEarly: text.length > longFrame });
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error;
      const faults = error.inner.length > 0 ? error.inner : [error];
      return `${type}: ${faults.map(({ path, message }) => `${path} ${message}`).join('; ')}`;
    }
    return frame as F;
  };
}
