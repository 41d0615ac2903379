import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import { CoordinatorError } from '../../../domain/errors.ts';
import type { BodyStream } from '../../../http/middleware/streamBody.ts';
import { invalidField, OpenAiError } from '../errors.ts';

/** Fields besides the file; OpenAI knows three. */
const fieldsMax = 50;
/** Bytes of the value of a field; the rest of it is dropped. */
const fieldBytesMax = 1024;
/** Bytes of the headers of one part; the rest of them is dropped. */
const headerBytesMax = 16 * 1024;
/** What the body may have besides its file. */
const otherBytesMax = 1024 ** 2;

/** Where the one file of a form goes: `name` as its sender calls it. What it rejects with ends the reading. */
type Keep = (name: string, bytes: Readable) => Promise<void>;

export interface FormLimits {
  fileBytes: number;
  /** The setting that says so. */
  fileBytesName: string;
}

/**
 * Read a form with one file, `file`, in constant memory, whatever the order of its parts.
 * @returns the other fields, the last of each name; the file is kept by then.
 * @throws OpenAiError when it is no such form; CoordinatorError of `BodyStream`; what `keep` rejects with. `keep` has ended in
 * any case.
 */
// Over 60 lines: the listeners share the state of one form.
export function readForm(
  body: BodyStream,
  headers: IncomingHttpHeaders,
  { fileBytes, fileBytesName }: FormLimits,
  keep: Keep,
): Promise<ReadonlyMap<string, string>> {
  const form = formOf(headers, fileBytes);
  const fields = new Map<string, string>();
  return new Promise((resolve, reject) => {
    let file: Readable | null = null;
    let kept: Promise<void> = Promise.resolve();
    let isOver = false;
    let isRead = false;
    let isParsed = false;
    let stop: () => void = () => {};
    const fail = (error: unknown): void => {
      if (isOver) return;
      isOver = true;
      stop();
      file?.destroy(error instanceof Error ? error : new Error('the form broke off'));
      const end = (): void => reject(error);
      kept.then(end, end);
    };
    const refuse = (rule: string, param: string | null = null): void =>
      fail(new OpenAiError(`The form ${rule}`, { status: 400, param, code: 'invalid_value' }));
    form.on('file', (_field, stream, name) => {
      // The rest of the piece in which the form was refused.
      if (isOver) {
        stream.resume();
        return;
      }
      // It may break off after its reader has stopped.
      stream.on('error', () => {});
      stream.on('limit', () => fail(tooLarge(fileBytes, fileBytesName)));
      file = stream;
      kept = keep(name, stream);
      kept.catch(fail);
    });
    form.on('field', (name, value, _isNameCut, isCut) => {
      if (isOver) return;
      if (isCut && isKnown(name)) fail(invalidField(name, `must have at most ${fieldBytesMax} bytes`));
      // Others are ignored.
      else if (isKnown(name)) fields.set(name, value);
    });
    form.on('filesLimit', () => refuse('has more than one file', 'file'));
    form.on('fieldsLimit', () => refuse(`has more than ${fieldsMax} fields`));
    form.on('error', () => refuse('ends early, or is not multipart/form-data'));
    const endAfterBoth = (): void => {
      if (!isRead || !isParsed) return;
      kept.then(() => {
        isOver = true;
        resolve(fields);
      }, fail);
    };
    form.on('finish', () => {
      isParsed = true;
      endAfterBoth();
    });
    const limits = {
      maxBytes: fileBytes + otherBytesMax,
      maxName: `${fileBytesName}, with 1 MiB for other parts,`,
    };
    // A form may be complete before its body is.
    stop = body.into(form, limits, (error) => {
      if (error !== null) {
        fail(error);
        return;
      }
      isRead = true;
      endAfterBoth();
    });
    if (isOver) stop();
  });
}

const known: ReadonlySet<string> = new Set(['purpose', 'expires_after[anchor]', 'expires_after[seconds]']);

function isKnown(name: string): boolean {
  return known.has(name);
}

/** @throws CoordinatorError unsupported_media_type; OpenAiError for one without a boundary. */
function formOf(headers: IncomingHttpHeaders, fileBytes: number) {
  const type = headers['content-type'] ?? '';
  if (!/^multipart\/form-data(;|$)/i.test(type))
    throw new CoordinatorError('unsupported_media_type', 'Send the file as multipart/form-data');
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': type },
      // Anything else is a field that is ignored, however it is called.
      isPartAFile: (field, _type, name) => field === 'file' && name !== undefined,
      limits: {
        files: 1,
        fileSize: fileBytes,
        fields: fieldsMax,
        fieldSize: fieldBytesMax,
        headerPairs: 20,
        headerSize: headerBytesMax,
      },
    });
  } catch {
    throw new OpenAiError('The Content-Type multipart/form-data has no boundary', {
      status: 400,
      code: 'invalid_value',
    });
  }
}

function tooLarge(bytes: number, name: string): CoordinatorError {
  return new CoordinatorError('payload_too_large', `The file is larger than ${name} (${bytes}) allows`);
}
