import type { DispatchBody } from '../domain/wire/job.ts';
import type { Sample, Source } from './source.ts';

/** How the lines of a file become jobs. */
export interface ReadOptions {
  /** For lines without one; a line of plain text is then its input. */
  prompt?: string | undefined;
  /** The column of a table that is the prompt. */
  promptColumn?: string | undefined;
  /** `Summarise {{title}}`: the prompt made of the columns of a table. */
  template?: string | undefined;
  /** The column or field with the id of a line. */
  idColumn?: string | undefined;
}

/** One job of a file, before it has an id in the run. */
export interface RawJob {
  /** Where it begins in the file, from 1. */
  line: number;
  /** Its own id; null where it has none. */
  ownId: string | null;
  body: DispatchBody;
  /** The cells of a table, in the order of its header; none for other files. */
  cells: readonly string[];
}

/** What is wrong with one line. */
export interface LineFault {
  line: number;
  fault: string;
}

/** A file of a format, and what the options mean for it. */
export interface Opened {
  /** The columns of a table; none for other files. */
  header: readonly string[];
  /** Read it, from the start. Goes on after a fault where the format allows. */
  read: () => AsyncGenerator<RawJob | LineFault>;
}

/** A form of file. A new one is a file here and a line in `formats/index.ts`. */
export interface Format {
  /** For `--format`. */
  name: string;
  /** For the help. */
  description: string;
  /** Without the dot. */
  extensions: readonly string[];
  /** Whether it is a table with a header, whose columns come back beside the answers. */
  isTable: boolean;
  /** Whether the beginning of a file looks like it. Formats are asked in the order of the list. */
  fits: (sample: Sample) => boolean;
  /** @throws FileFault when the options do not fit the file. */
  open: (source: Source, options: ReadOptions) => Promise<Opened>;
}
