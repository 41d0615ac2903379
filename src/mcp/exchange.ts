import type { ServerResponse } from 'node:http';
import type { HttpParts } from '../http/parts.ts';
import type { Answer, OwnAnswer } from '../http/route.ts';
import type { Caller } from './caller.ts';

/**
 * The response of the SDK as one of ours. A stream is taken over when its first part is there: until then the body of the
 * request counts as held, as it is.
 */
export async function answerOf(
  response: Response,
  caller: Caller,
  { answers }: HttpParts,
): Promise<Answer | OwnAnswer> {
  const type = response.headers.get('content-type') ?? 'text/plain';
  const { status, body } = response;
  if (body === null || !type.startsWith('text/event-stream'))
    return { status, type, text: body === null ? '' : await response.text() };
  const reader = body.getReader();
  const first = await reader.read();
  return {
    headers: {
      'Content-Type': type,
      'Cache-Control': 'no-store, no-transform',
      'X-Accel-Buffering': 'no',
    },
    write: (out) => {
      out.statusCode = status;
      pour(first, reader, out, { caller, answers });
    },
  };
}

type Part = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']>>;

/** As fast as the client reads. What it has not read is counted in the memory for answers. */
function pour(
  first: Part,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  out: ServerResponse,
  { caller, answers }: { caller: Caller; answers: HttpParts['answers'] },
): void {
  const cancel = (): void => void reader.cancel().catch(() => {});
  // It went while the first part was awaited, and no event says so any more.
  if (out.destroyed) {
    cancel();
    return;
  }
  let writtenBytes = 0;
  const hold = answers.hold(caller.principal, {
    held: () => out.writableLength,
    taken: () => writtenBytes - out.writableLength,
    cut: () => out.destroy(),
  });
  out.once('close', () => {
    hold.release();
    // If the client has gone, the SDK need not make the rest.
    cancel();
  });
  out.on('error', () => {});
  const run = async (): Promise<void> => {
    for (let part = first; !part.done && !out.destroyed; part = await reader.read()) {
      const isFull = !out.write(part.value);
      writtenBytes += part.value.length;
      hold.update();
      if (isFull) await drained(out);
    }
    out.end();
  };
  run().catch(() => out.destroy());
}

async function drained(out: ServerResponse): Promise<void> {
  if (out.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  out.once('drain', resolve).once('close', resolve);
  await promise;
  out.off('drain', resolve).off('close', resolve);
}
