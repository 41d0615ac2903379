import type { BatchRun } from '../../../coordinator/batches/index.ts';
import type { Coordinator } from '../../../coordinator/coordinator.ts';
import { isFinal } from '../../../domain/batch.ts';
import { CoordinatorError } from '../../../domain/errors.ts';
import type { FileRecord } from '../../../domain/file.ts';
import type { Principal } from '../../../domain/key.ts';
import type { HttpParts } from '../../../http/parts.ts';
import type { Answer, RawRequest, ServedRoute } from '../../../http/route.ts';
import { parseIdempotencyKey } from '../../../http/routes/jobs/schema.ts';
import { invalidField, OpenAiError } from '../errors.ts';
import { batchIdOf, fileIdOf, runOfBatch } from '../ids.ts';
import { maySee } from '../owner.ts';
import { listFrame, readPage } from '../paging.ts';
import { defineDoorRoute } from '../route.ts';
import { batchOf } from './batch.ts';
import { metadataMax } from './fields.ts';
import { writeInput } from './input.ts';
import {
  cancelOperation,
  createOperation,
  errorsOperation,
  getOperation,
  listOperation,
  outputOperation,
  retryOperation,
} from './operations.ts';
import { type AskedBatch, batchKey, parseBatch } from './parse.ts';

const createBatch = defineDoorRoute({
  method: 'POST',
  path: '/v1/batches',
  role: 'client',
  document: createOperation,
  reads: 'object',
  handle: async ({ body, headers, principal }, parts) => {
    const key = parseIdempotencyKey(headers, principal);
    const asked = parseBatch(body, key);
    return shown(await create(asked, principal, parts), parts);
  },
});

/** @throws OpenAiError when there is no such file; CoordinatorError. */
async function create(asked: AskedBatch, principal: Principal, parts: HttpParts): Promise<BatchRun> {
  const { coordinator } = parts;
  const { files, batches } = coordinator;
  const { key } = asked.batch;
  // First of all: its file may have been deleted since.
  const made = key === null ? null : batches.madeWith(key);
  if (made !== null) return made;
  if (asked.inputFileId !== null) {
    const file = inputFile(asked.inputFileId, principal, coordinator);
    return batches.create({ ...asked.batch, inputFileId: file.id }, principal);
  }
  const { endpoint } = asked.batch;
  async function* lines(): AsyncGenerator<string> {
    for (const request of asked.requests)
      yield `${JSON.stringify({ method: 'POST', url: endpoint, ...request })}\n`;
  }
  const file = await writeInput(files, lines(), principal, parts);
  return adopt(file, () => batches.create({ ...asked.batch, inputFileId: file.id }, principal), parts);
}

/** Make a batch of a file that was written for it; the file goes when there is no batch, or another one is the answer. */
async function adopt(file: FileRecord, make: () => Promise<BatchRun>, { coordinator, logger }: HttpParts) {
  const drop = async (): Promise<void> => {
    await coordinator.files.remove(file.id, null).catch((error: unknown) => {
      logger.warn({ err: error }, 'the lines of a batch that was not made stay until they expire');
    });
  };
  try {
    const run = await make();
    if (run.batch.request.inputFileId !== file.id) await drop();
    return run;
  } catch (error) {
    await drop();
    throw error;
  }
}

/** The file, if this key may use it and it is one of requests. @throws OpenAiError. */
function inputFile(id: string, principal: Principal, { files }: Coordinator): FileRecord {
  const file = files.find(id);
  if (file === undefined || !maySee(principal, file.createdBy)) {
    const message = `There is no file ${fileIdOf(id)}`;
    throw new OpenAiError(message, { status: 404, param: 'input_file_id', code: 'not_found' });
  }
  if (file.purpose === 'batch') return file;
  const message = `Invalid value for input_file_id: the purpose of the file is ${file.purpose}, and must be batch`;
  throw new OpenAiError(message, { status: 400, param: 'input_file_id', code: 'invalid_value' });
}

const listBatches = defineDoorRoute({
  method: 'GET',
  path: '/v1/batches',
  role: 'viewer',
  document: listOperation,
  handle: async ({ query, principal }, { coordinator, clock }) => {
    const { batches } = coordinator;
    const { limit, after } = readPage(query);
    const own = batches.list().filter(({ createdBy }) => maySee(principal, createdBy));
    const place = after === null ? -1 : own.findIndex(({ id }) => batchIdOf(id) === after);
    if (after !== null && place === -1) throw invalidField('after', 'must be the id of a batch');
    const page = own.slice(place + 1, place + 1 + limit);
    const ids = page.map(({ id }) => batchIdOf(id));
    const data = page.map((run) => batchOf(run, batches.rateOf(run), clock.now()));
    return { json: { ...listFrame(ids, place + 1 + limit < own.length), data } };
  },
});

const getBatch = defineDoorRoute({
  method: 'GET',
  path: '/v1/batches/:id',
  role: 'viewer',
  document: getOperation,
  handle: async (request, parts) => shown(asked(request, parts), parts),
});

const cancelBatch = defineDoorRoute({
  method: 'POST',
  path: '/v1/batches/:id/cancel',
  role: 'client',
  document: cancelOperation,
  handle: async (request, parts) => {
    const { id } = asked(request, parts);
    try {
      return shown(await parts.coordinator.batches.cancel(id, request.doer()), parts);
    } catch (error) {
      if (!(error instanceof CoordinatorError) || error.code !== 'run_conflict') throw error;
      throw new OpenAiError(error.message, { status: 409, code: 'invalid_batch_state' });
    }
  },
});

const retryBatch = defineDoorRoute({
  method: 'POST',
  path: '/v1/batches/:id/retry',
  role: 'client',
  document: retryOperation,
  handle: async (request, parts) => {
    const { batches, files, webhooks } = parts.coordinator;
    const { principal, headers } = request;
    const run = asked(request, parts);
    const { request: first, state, life } = run.batch;
    const key = batchKey(parseIdempotencyKey(headers, principal), { retry_of: run.id });
    const made = key === null ? null : batches.madeWith(key);
    if (made !== null) return shown(made, parts);
    const conflict = (message: string) =>
      new OpenAiError(message, { status: 409, code: 'invalid_batch_state' });
    if (!isFinal(state)) throw conflict(`The batch is ${state}; it can be retried when it has ended`);
    // One that was cancelled before its file was read has no files: none of its lines was tried.
    const isUnread = state === 'cancelled' && life.lines === null;
    if (life.result?.errorFileId == null && !isUnread) throw conflict('No line of the batch has failed');
    if (files.find(first.inputFileId) === undefined)
      throw conflict('The input file of the batch was deleted, so its lines are not known any more');
    const file = await writeInput(files, batches.unanswered(run.id), principal, parts);
    const { hasShare: _h, key: _k, expiresAt, webhook, ...rest } = first;
    const { maxCost, maxFailures } = run.life.limits;
    const again = {
      ...rest,
      // It may have been deleted since.
      ...(webhook !== undefined && webhooks.isNamed(webhook) ? { webhook } : {}),
      inputFileId: file.id,
      windowMs: expiresAt - run.createdAt,
      metadata: retryMetadata(first.metadata, batchIdOf(run.id)),
      limits: { maxCost, maxFailures },
      key,
    };
    return shown(await adopt(file, () => batches.create(again, principal), parts), parts);
  },
});

/** The metadata of a batch that was made of another one; without the name of that one when there is no room for it. */
function retryMetadata(metadata: Readonly<Record<string, string>>, retryOf: string): Record<string, string> {
  const next = { ...metadata, retry_of: retryOf };
  return Object.keys(next).length > metadataMax ? metadata : next;
}

const getOutput = answersRoute('output');
const getErrors = answersRoute('errors');

/** The lines of one of the two files so far, or the file itself when it is written. */
function answersRoute(which: 'output' | 'errors'): ServedRoute {
  return defineDoorRoute({
    method: 'GET',
    path: `/v1/batches/:id/${which}`,
    role: 'viewer',
    document: which === 'output' ? outputOperation : errorsOperation,
    handle: async (request, parts): Promise<Answer> => {
      const { id, batch } = asked(request, parts);
      const { batches, files } = parts.coordinator;
      const type = 'application/jsonl';
      if (batch.life.result === null) {
        const headers = { 'X-Incomplete': String(!isFinal(batch.state)) };
        return { type, headers, chunks: batches.answersSoFar(id, which) };
      }
      const { outputFileId, errorFileId } = batch.life.result;
      const fileId = which === 'output' ? outputFileId : errorFileId;
      const headers = { 'X-Incomplete': 'false' };
      if (fileId !== null && !(await files.isReadable(fileId))) throw goneFile(which, fileId);
      return { type, headers, chunks: fileId === null ? none() : texts(files.read(fileId)) };
    },
  });
}

/** Files are deleted by their owner, or expire. */
function goneFile(which: 'output' | 'errors', fileId: string): OpenAiError {
  const message = `The file of the ${which} of the batch, ${fileIdOf(fileId)}, was deleted or has expired`;
  return new OpenAiError(message, { status: 404, code: 'not_found' });
}

async function* none(): AsyncGenerator<string> {}

async function* texts(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const piece of pieces) yield decoder.decode(piece, { stream: true });
}

/** The batch in the path, if this key may see it. @throws OpenAiError. */
function asked({ params: { id = '' }, principal }: RawRequest, { coordinator }: HttpParts): BatchRun {
  const uuid = runOfBatch(id);
  const run = uuid === null ? undefined : coordinator.batches.find(uuid);
  if (run !== undefined && maySee(principal, run.createdBy)) return run;
  throw new OpenAiError(`There is no batch ${id.slice(0, 100)}`, { status: 404, code: 'not_found' });
}

function shown(run: BatchRun, { coordinator, clock }: HttpParts): Answer {
  return { json: batchOf(run, coordinator.batches.rateOf(run), clock.now()) };
}

/** /v1/batches. */
export const batchRoutes: readonly ServedRoute[] = [
  createBatch,
  listBatches,
  getBatch,
  cancelBatch,
  retryBatch,
  getOutput,
  getErrors,
];
