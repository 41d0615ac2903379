import { FileFault } from '../fault.ts';
import type { Format } from '../format.ts';
import type { Sample } from '../source.ts';
import { jsonArray } from './jsonArray.ts';
import { mixedLines, ndjson, plainText } from './lines.ts';
import { openaiBatch } from './openai.ts';
import { csv, tsv } from './table.ts';

/** Every form of file, in the order in which they are tried: the first that fits is taken. */
export const formats: readonly Format[] = [openaiBatch, jsonArray, ndjson, csv, tsv, plainText, mixedLines];

/** The format of a file: the named one, or the first that fits. */
export function formatOf(sample: Sample, name: string | undefined): Format {
  const found = formats.find((format) => (name === undefined ? format.fits(sample) : format.name === name));
  if (found === undefined) throw new FileFault(`there is no format ${name}`);
  return found;
}
