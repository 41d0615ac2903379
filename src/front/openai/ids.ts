import { isUuid } from '../../lib/uuid.ts';

const chatPrefix = 'chatcmpl-';

/** The id of the completion of a job: its UUID without dashes leads back to it. */
export function chatIdOf(jobId: string): string {
  return chatPrefix + jobId.replaceAll('-', '');
}

/** The job of a completion; null for what is no such id. */
export function jobOfChat(id: string): string | null {
  if (!id.startsWith(chatPrefix)) return null;
  const digits = id.slice(chatPrefix.length);
  const jobId = digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return isUuid(jobId) ? jobId : null;
}
