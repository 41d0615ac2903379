import type { Assignment, WireFailure } from '../../../domain/workerProtocol.ts';
import { fieldsOf, isFields, parseFields } from '../../../lib/fields.ts';
import { systemClock } from '../../../lib/systemClock.ts';
import { openStream } from '../http/openStream.ts';
import { beginOf } from '../http/readBody.ts';
import { TimeoutWatch } from '../http/timeoutWatch.ts';
import { chatMessages } from '../request/chatMessages.ts';

/**
 * Whether ollama has cut the begin of the prompt off to make it fit its window. `truncate: false` forbids that, and
 * servers before 0.12 do not know the word: they answer a 200 to another question. Two signs together tell it:
 * - it counted fewer tokens than the text can have: more than 6 bytes a token, where prose and code have 3 to 5;
 * - what the text has, at 4 bytes a token, is more than the window: `num_ctx`, or what GET /api/ps says of the model;
 *   when nobody tells the window, a count of 1,000 or more (the smallest default window is 2,048).
 * A count that reaches `num_ctx` is a sign by itself: nothing would be left for the answer.
 * Source: https://github.com/ollama/ollama/issues/3839
 * @param counted `prompt_eval_count`; undefined: the server reported none, so nothing can be concluded.
 */
export async function isTruncated(
  server: { base: string; headers: Readonly<Record<string, string>> },
  model: string,
  assignment: Assignment,
  counted: number | undefined,
): Promise<boolean> {
  if (counted === undefined) return false;
  const asked = windowAsked(assignment);
  if (asked !== null && counted >= asked) return true;
  const bytes = chatMessages(assignment).reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  if (bytes <= 6 * counted || bytes < 8_192) return false;
  const window = asked ?? (await windowOf(server, model));
  return window === null ? counted >= 1_000 : bytes / 4 > window;
}

export function truncatedFailure(name: string, help: string): WireFailure {
  return {
    class: 'context_overflow',
    code: 'prompt_truncated',
    message: `Context overflow: the ${name} server cut off the start of the prompt to make it fit its window; ${help}`,
  };
}

function windowAsked({ params }: Assignment): number | null {
  const options = fieldsOf(params.options);
  const asked = options.num_ctx ?? params.num_ctx;
  return typeof asked === 'number' && asked > 0 ? asked : null;
}

const timeouts = { connectMs: 2_000, firstMs: 2_000, idleMs: 2_000, totalMs: 2_000 };
const listMax = 1024 * 1024;

/** The context window of a loaded model in GET /api/ps: `context_length`, since 0.9. null: not reported. */
async function windowOf(
  { base, headers }: { base: string; headers: Readonly<Record<string, string>> },
  model: string,
): Promise<number | null> {
  const watch = new TimeoutWatch(systemClock, timeouts, new AbortController().signal);
  try {
    const answer = await openStream({ method: 'GET', url: new URL(`${base}/api/ps`), headers, watch });
    const models = parseFields(await beginOf(answer.body, listMax))?.models;
    if (!Array.isArray(models)) return null;
    const loaded = models.filter(isFields).find(({ name }) => name === model || name === `${model}:latest`);
    const length = loaded?.context_length;
    return typeof length === 'number' && length > 0 ? length : null;
  } catch {
    // Only a second check; without it the count alone decides.
    return null;
  } finally {
    watch.end();
  }
}
