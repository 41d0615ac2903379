import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { createBrotliDecompress, createUnzip } from 'node:zlib';
import { CoordinatorError, messageOf } from '../../domain/errors.ts';
import { isPrivileged, type Principal } from '../../domain/key.ts';
import type { Turns } from '../../lib/turns.ts';
import type { Upload, Uploads } from '../uploads.ts';

/** What a decoder takes besides what it gives out. */
const decoderBytes = 64 * 1024;
/** Parts that are shorter are put together: each Buffer takes some 200 bytes besides its own. */
const shortBytes = 2 * 1024;
const blockBytes = 2 * shortBytes;
/** Bytes that are copied at once: some 2 ms. */
const sliceBytes = 4 * 1024 ** 2;
const none = Buffer.alloc(0);

export interface Reading {
  uploads: Uploads;
  principal: Principal;
  /** Of the body without its Content-Encoding. */
  maxBytes: number;
  /** The setting that says so. */
  maxName: string;
  /** Whether the body may come with a Content-Encoding. */
  isDecoded: boolean;
  /** Told each part as it comes; what it throws ends the reading. */
  onPart?: (part: Buffer) => void;
}

/** A body in memory, in the parts it came in. */
export interface Received {
  parts: Buffer[];
  bytes: number;
  /** Its memory, to be released in any case. */
  upload: Upload;
}

/**
 * Read the body of a request. Nothing that was refused is kept, and the request is left paused at what it sent next.
 * @throws CoordinatorError payload_too_large, share_exceeded, rate_limited, request_timeout (it lost its place),
 * invalid_request (it broke off), unsupported_media_type (another Content-Encoding); and what `onPart` throws.
 */
// Over 60 lines: the handlers share the state of one body.
export function readBody(request: IncomingMessage, reading: Reading): Promise<Received> {
  const { maxBytes, maxName } = reading;
  const encoding = request.headers['content-encoding'] ?? 'identity';
  const decoder = encoding === 'identity' ? null : decoderOf(encoding, reading);
  const tooLarge = () =>
    new CoordinatorError(
      'payload_too_large',
      `The body is larger than the ${maxBytes} bytes that ${maxName} allows`,
    );
  const announced = Number(request.headers['content-length'] ?? 0);
  if (decoder === null && announced > maxBytes) throw tooLarge();
  return new Promise((resolve, reject) => {
    const parts = new Parts();
    const source = decoder === null ? request : request.pipe(decoder);
    const { keyId, role } = reading.principal;
    // Listeners stay where they are: to take four of them off costs as much as to parse a small body.
    let isOver = false;
    const fail = (error: unknown): void => {
      if (isOver) return;
      isOver = true;
      upload.release();
      if (decoder !== null) request.unpipe(decoder);
      decoder?.destroy();
      request.pause();
      reject(error);
    };
    const onData = (part: Buffer): void => {
      if (isOver) return;
      try {
        if (parts.bytes + part.length > maxBytes) throw tooLarge();
        if (decoder === null) upload.moved += part.length;
        upload.take(part.length);
        reading.onPart?.(part);
        parts.push(part);
      } catch (error) {
        fail(error);
      }
    };
    const onEnd = (): void => {
      if (isOver) return;
      isOver = true;
      resolve({ parts: parts.list, bytes: parts.bytes, upload });
    };
    const onError = (error: unknown): void => fail(invalid(`The body broke off: ${messageOf(error)}`));
    const upload = reading.uploads.begin({ keyId, isPrivileged: isPrivileged(role) }, fail);
    try {
      upload.announce(announced);
      if (decoder !== null) upload.take(decoderBytes);
    } catch (error) {
      fail(error);
      return;
    }
    if (decoder !== null) {
      request.on('data', (part: Buffer) => {
        upload.moved += part.length;
      });
      decoder.on('error', onError);
    }
    // A connection that ends before its body does is an error of the request.
    request.on('error', onError);
    source.on('data', onData).on('end', onEnd);
  });
}

/** All parts as one. Each is let go of when it has been copied, and others get a turn after every 4 MiB. */
export async function joined({ parts, bytes }: Received, turns: Turns): Promise<Buffer> {
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) return first;
  const whole = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  let turnAt = sliceBytes;
  for (const [index, part] of parts.entries()) {
    at += part.copy(whole, at);
    parts[index] = none;
    if (at < turnAt) continue;
    turnAt = at + sliceBytes;
    await turns.next();
  }
  return whole;
}

/** Copies short parts together, so that a body in very small ones takes no more memory than another. */
class Parts {
  readonly list: Buffer[] = [];
  bytes = 0;
  /** The last of the list where it has room left. */
  #block: { buffer: Buffer; used: number } | null = null;

  push(part: Buffer): void {
    this.bytes += part.length;
    // Most bodies are one part, which is not copied.
    if (this.list.length === 0 || part.length > shortBytes) {
      this.list.push(part);
      this.#block = null;
      return;
    }
    if (this.#block === null || this.#block.used + part.length > blockBytes) {
      this.#block = { buffer: Buffer.allocUnsafeSlow(blockBytes), used: 0 };
      this.list.push(this.#block.buffer);
    }
    const { buffer, used } = this.#block;
    part.copy(buffer, used);
    this.#block.used = used + part.length;
    this.list[this.list.length - 1] = buffer.subarray(0, this.#block.used);
  }
}

/** @throws CoordinatorError unsupported_media_type. */
function decoderOf(encoding: string, { isDecoded }: Reading): Duplex {
  if (isDecoded && (encoding === 'gzip' || encoding === 'deflate')) return createUnzip();
  if (isDecoded && encoding === 'br') return createBrotliDecompress();
  const taken = isDecoded ? 'gzip, deflate or br' : 'none';
  throw new CoordinatorError(
    'unsupported_media_type',
    `The Content-Encoding of the body is not known; it may be ${taken}`,
  );
}

/** A fault of the body as a whole. */
export function invalid(message: string, cause?: unknown): CoordinatorError {
  return new CoordinatorError('invalid_request', message, { errors: [{ field: '', message }] }, { cause });
}
