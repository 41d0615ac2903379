import { FileFault } from '../fault.ts';
import type { ReadOptions } from '../format.ts';

/** @throws FileFault for options that only a table has. */
export function refuseTableOptions(format: string, { promptColumn, template }: ReadOptions): void {
  if (promptColumn !== undefined || template !== undefined)
    throw new FileFault(
      `${promptColumn === undefined ? '--template' : '--prompt-column'} needs a table with a header, and the file was read as ${format}; --format csv or tsv reads it as one`,
    );
}
