import { isUuid } from '../../lib/uuid.ts';

/* Ids on `/v1`: a prefix that says what it names, and a UUID without dashes. So any of them leads to its job or its run. */

const chatPrefix = 'chatcmpl-';
const responsePrefix = 'resp_';
const filePrefix = 'file-';
const batchPrefix = 'batch_';

/** The id of the completion of a job. */
export function chatIdOf(jobId: string): string {
  return chatPrefix + digitsOf(jobId);
}

/** The job of a completion; null for what is no such id. */
export function jobOfChat(id: string): string | null {
  return uuidAfter(chatPrefix, id);
}

/** The id of the response of a job. */
export function responseIdOf(jobId: string): string {
  return responsePrefix + digitsOf(jobId);
}

/** The job of a response; null for what is no such id. */
export function jobOfResponse(id: string): string | null {
  return uuidAfter(responsePrefix, id);
}

/** The id of a file. */
export function fileIdOf(id: string): string {
  return filePrefix + digitsOf(id);
}

/** The file of an id; null for what is no such id. */
export function fileOf(id: string): string | null {
  return uuidAfter(filePrefix, id);
}

/** The id of the batch that a run is. */
export function batchIdOf(runId: string): string {
  return batchPrefix + digitsOf(runId);
}

/** The run of a batch; null for what is no such id. */
export function runOfBatch(id: string): string | null {
  return uuidAfter(batchPrefix, id);
}

/** A UUID without its dashes. */
export function digitsOf(uuid: string): string {
  return uuid.replaceAll('-', '');
}

function uuidAfter(prefix: string, id: string): string | null {
  if (!id.startsWith(prefix)) return null;
  const digits = id.slice(prefix.length);
  const uuid = digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return isUuid(uuid) ? uuid : null;
}
