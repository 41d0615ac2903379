import type { FileShelf } from '../../../coordinator/files/index.ts';
import type { FileRecord } from '../../../domain/file.ts';
import type { Principal } from '../../../domain/key.ts';
import type { HttpParts } from '../../../http/parts.ts';

const dayMs = 86_400_000;
/** Characters that are written at once. */
const writtenAtOnce = 256 * 1024;

/**
 * Write the input file of a batch whose lines did not come as one. @param lines each with its newline.
 * @throws CoordinatorError when there is no room for it; StoreUnavailable. Nothing of it remains then.
 */
export async function writeInput(
  files: FileShelf,
  lines: AsyncIterable<string>,
  by: Principal,
  { clock, config }: HttpParts,
): Promise<FileRecord> {
  const draft = await files.begin({
    name: 'requests.jsonl',
    purpose: 'batch',
    expiresAt: clock.now() + config().front.files.days * dayMs,
    createdBy: { keyId: by.keyId, name: by.name },
    by,
  });
  try {
    let text = '';
    for await (const line of lines) {
      text += line;
      if (text.length < writtenAtOnce) continue;
      await draft.write(Buffer.from(text));
      text = '';
    }
    if (text !== '') await draft.write(Buffer.from(text));
    return await files.add(await draft.finish());
  } catch (error) {
    await draft.abandon();
    throw error;
  }
}
