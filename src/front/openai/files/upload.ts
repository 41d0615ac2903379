import type { Config } from '../../../config/config.ts';
import type { FileDraft } from '../../../coordinator/files/index.ts';
import { CoordinatorError } from '../../../domain/errors.ts';
import type { FileRecord } from '../../../domain/file.ts';
import type { BodyStream } from '../../../http/middleware/streamBody.ts';
import type { HttpParts } from '../../../http/parts.ts';
import type { RawRequest } from '../../../http/route.ts';
import { invalidField, OpenAiError } from '../errors.ts';
import { readForm } from './form.ts';

/** What files can be uploaded for; `batch_output` is for batches alone. */
const purposes: readonly string[] = ['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'];
/** Characters of a name. */
const nameMax = 255;
/** Seconds that a file may name as its life, as at OpenAI: an hour to 30 days. */
const secondsMin = 3_600;
const secondsMax = 2_592_000;
const dayMs = 86_400_000;

/**
 * Keep the file of a form, stored as it came. Durable when it resolves; otherwise nothing of it remains.
 * @throws OpenAiError for a field that is missing or wrong; CoordinatorError of `readForm` and of `FileShelf`.
 */
export async function upload(
  { headers, principal }: RawRequest,
  body: BodyStream,
  { coordinator, config: configNow, logger }: Pick<HttpParts, 'coordinator' | 'config' | 'logger'>,
): Promise<FileRecord> {
  const config = configNow();
  const { files } = coordinator;
  const drafts: FileDraft[] = [];
  const limits = {
    fileBytes: config.front.files.maxFileBytes,
    fileBytesName: 'front.files.max_file_bytes',
  };
  try {
    const fields = await readForm(body, headers, limits, async (name, bytes) => {
      assertName(name);
      const createdBy = { keyId: principal.keyId, name: principal.name };
      // What it is for may come after its bytes.
      const draft = await files.begin({ name, purpose: '', expiresAt: null, createdBy, by: principal });
      drafts.push(draft);
      for await (const chunk of bytes) await draft.write(chunk);
    });
    const [draft] = drafts;
    if (draft === undefined) throw missing('file', 'a file with a name');
    const terms = termsOf(fields, draft.record, config);
    return await files.add({ ...(await draft.finish()), ...terms });
  } catch (error) {
    for (const draft of drafts) await draft.abandon();
    if (error instanceof CoordinatorError && error.code === 'store_unavailable')
      logger.warn({ err: error.cause ?? error }, 'an upload could not be kept');
    throw error;
  }
}

/** @throws OpenAiError. */
function assertName(name: string): void {
  if (name === '') throw missing('file', 'a file with a name');
  if (name.length > nameMax) throw invalidField('file', `must have a name of at most ${nameMax} characters`);
}

/** What the fields say of a file. @throws OpenAiError. */
function termsOf(
  fields: ReadonlyMap<string, string>,
  { name, createdAt }: FileRecord,
  config: Config,
): Pick<FileRecord, 'purpose' | 'expiresAt'> {
  const purpose = fields.get('purpose');
  if (purpose === undefined) throw missing('purpose', purposes.join(', '));
  if (!purposes.includes(purpose)) throw invalidField('purpose', `must be one of ${purposes.join(', ')}`);
  if (purpose === 'batch' && !name.endsWith('.jsonl'))
    throw invalidField('file', 'must have a name that ends in .jsonl for the purpose batch');
  const seconds = secondsOf(fields);
  const days = purpose === 'batch' ? config.front.files.days : null;
  const lifeMs = seconds !== null ? seconds * 1000 : days === null ? null : days * dayMs;
  return { purpose, expiresAt: lifeMs === null ? null : createdAt + lifeMs };
}

/** How long the file is kept; null when that was not said. @throws OpenAiError. */
function secondsOf(fields: ReadonlyMap<string, string>): number | null {
  const anchor = fields.get('expires_after[anchor]');
  const seconds = fields.get('expires_after[seconds]');
  if (anchor === undefined && seconds === undefined) return null;
  if (anchor !== 'created_at') throw invalidField('expires_after[anchor]', 'must be created_at');
  const count = /^\d{1,9}$/.test(seconds ?? '') ? Number(seconds) : 0;
  if (count < secondsMin || count > secondsMax)
    throw invalidField(
      'expires_after[seconds]',
      `must be a whole number from ${secondsMin} to ${secondsMax}`,
    );
  return count;
}

function missing(param: string, what: string): OpenAiError {
  const facts = { status: 400, param, code: 'missing_required_parameter' };
  return new OpenAiError(`The form has no ${param}: send ${what}`, facts);
}
