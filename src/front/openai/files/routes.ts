import type { FileShelf } from '../../../coordinator/files/index.ts';
import type { FileRecord } from '../../../domain/file.ts';
import { pageAnswer } from '../../../http/longJson.ts';
import type { BodyStream } from '../../../http/middleware/streamBody.ts';
import type { HttpParts } from '../../../http/parts.ts';
import type { RawRequest, ServedRoute } from '../../../http/route.ts';
import { invalidField, OpenAiError } from '../errors.ts';
import { fileIdOf, fileOf } from '../ids.ts';
import { maySee } from '../owner.ts';
import { listFrame } from '../paging.ts';
import { defineDoorRoute } from '../route.ts';
import {
  contentOperation,
  deleteOperation,
  getOperation,
  listOperation,
  uploadOperation,
} from './operations.ts';
import { upload } from './upload.ts';
import { wireFile } from './wireFile.ts';

/** Rows of a page, at most and by default, as at OpenAI. */
const limitMax = 10_000;

const createFile = defineDoorRoute({
  method: 'POST',
  path: '/v1/files',
  role: 'client',
  document: uploadOperation,
  reads: 'stream',
  handle: async (request, parts) => {
    const record = await upload(request, request.body as BodyStream, parts);
    parts.logger.info({ file_id: record.id, bytes: record.bytes, purpose: record.purpose }, 'file uploaded');
    return { json: wireFile(record) };
  },
});

const listFiles = defineDoorRoute({
  method: 'GET',
  path: '/v1/files',
  role: 'viewer',
  document: listOperation,
  handle: async ({ query, principal }, { coordinator }) => {
    const { purpose, limit, order, after } = pageOf(query);
    // Ids are in the order of their creation, and a page continues after one that was deleted since.
    const rows = coordinator.files
      .list()
      .filter(
        (record) => maySee(principal, record.createdBy) && (purpose === null || record.purpose === purpose),
      )
      .sort((a, b) => (a.id < b.id ? -order : order))
      .filter(({ id }) => after === null || ((id < after ? -order : order) > 0 && id !== after));
    const page = rows.slice(0, limit);
    return pageAnswer({
      name: 'data',
      rows: page,
      present: wireFile,
      rest: (given) =>
        listFrame(
          page.slice(0, given).map(({ id }) => fileIdOf(id)),
          given < rows.length,
        ),
    });
  },
});

const getFile = defineDoorRoute({
  method: 'GET',
  path: '/v1/files/:id',
  role: 'viewer',
  document: getOperation,
  handle: async (request, { coordinator }) => ({ json: wireFile(fileIn(request, coordinator.files)) }),
});

const deleteFile = defineDoorRoute({
  method: 'DELETE',
  path: '/v1/files/:id',
  role: 'client',
  document: deleteOperation,
  handle: async (request, { coordinator }) => {
    const { id, createdBy } = fileIn(request, coordinator.files);
    // What keys do with their own files would fill the audit log.
    const isOwn = createdBy?.keyId === request.principal.keyId;
    await coordinator.files.remove(id, isOwn ? null : request.doer());
    return { json: { id: fileIdOf(id), object: 'file', deleted: true } };
  },
});

const getContent = defineDoorRoute({
  method: 'GET',
  path: '/v1/files/:id/content',
  role: 'viewer',
  document: contentOperation,
  handle: async (request, { coordinator: { files } }: HttpParts) => {
    const { id, bytes } = fileIn(request, files);
    if (!(await files.isReadable(id))) throw noFile(request.params.id ?? '');
    return {
      type: 'application/octet-stream',
      headers: { 'Content-Length': String(bytes) },
      chunks: files.read(id),
    };
  },
});

/** Files: uploaded, listed, read and deleted. */
export const fileRoutes: readonly ServedRoute[] = [createFile, listFiles, getFile, getContent, deleteFile];

/** The file that a path names. @throws OpenAiError when this key may not see it, as when there is none. */
function fileIn({ params: { id = '' }, principal }: RawRequest, files: FileShelf): FileRecord {
  const uuid = fileOf(id);
  const record = uuid === null ? undefined : files.find(uuid);
  if (record === undefined || !maySee(principal, record.createdBy)) throw noFile(id);
  return record;
}

function noFile(id: string): OpenAiError {
  const message = `There is no file ${id.slice(0, 100)}`;
  return new OpenAiError(message, { status: 404, param: 'id', code: 'not_found' });
}

interface Page {
  /** null for all. */
  purpose: string | null;
  limit: number;
  /** 1: the oldest first; -1: the newest first. */
  order: 1 | -1;
  /** The last file of the page before; null for the first page. */
  after: string | null;
}

/** @throws OpenAiError. */
function pageOf(query: RawRequest['query']): Page {
  const { purpose, limit, order, after } = query;
  if (Array.isArray(purpose)) throw invalidField('purpose', 'must be given once');
  if (order !== undefined && order !== 'asc' && order !== 'desc')
    throw invalidField('order', 'must be asc or desc');
  const count = limit === undefined ? limitMax : /^\d{1,5}$/.test(String(limit)) ? Number(limit) : 0;
  if (count < 1 || count > limitMax) throw invalidField('limit', `must be from 1 to ${limitMax}`);
  const uuid = after === undefined ? null : fileOf(String(after).toLowerCase());
  if (after !== undefined && uuid === null) throw invalidField('after', 'must be the id of a file');
  return { purpose: purpose ?? null, limit: count, order: order === 'asc' ? 1 : -1, after: uuid };
}
