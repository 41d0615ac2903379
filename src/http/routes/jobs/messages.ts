import { mixed, ValidationError } from 'yup';
import type { Message } from '../../../domain/job.ts';
import { nameLengthMax } from '../../../domain/limits.ts';
import { type Fields, isFields } from '../../../lib/fields.ts';
import { faultsMax } from '../../validate.ts';
import { messagesMax } from './limits.ts';
import { messageShape } from './shape.ts';

/**
 * Whether a value is the messages of a chat.
 * An assistant that only called tools or refused has said nothing: its content may be null or left out then, as OpenAI's is.
 */
function areMessages(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= messagesMax &&
    value.every((one) => faultOf(one) === null)
  );
}

/**
 * The same as a schema that names the faults, the first 100 of them. The schemas of yup take 15 µs for each message and
 * 100 for each fault: 10,000 messages would hold up everybody for seconds.
 */
export const messages = mixed<Message[]>()
  .nullable()
  .test('messages', function checkMessages(value: unknown) {
    if (value === undefined || value === null) return true;
    const refuse = (message: string) => this.createError({ message });
    if (!Array.isArray(value)) return refuse('must be an array');
    if (value.length === 0) return refuse('must have at least 1 item');
    if (value.length > messagesMax) return refuse(`must have at most ${messagesMax} items`);
    const faults: ValidationError[] = [];
    for (const [index, one] of value.entries()) {
      const fault = faultOf(one);
      if (fault === null) continue;
      const field = fault.field === '' ? '' : `.${fault.field}`;
      faults.push(this.createError({ path: `${this.path}[${index}]${field}`, message: fault.message }));
      if (faults.length === faultsMax) break;
    }
    return faults.length === 0 || new ValidationError(faults, value, this.path);
  })
  .meta({
    description: 'The job in chat form, instead of `prompt`.',
    json: { type: ['array', 'null'], minItems: 1, maxItems: messagesMax, items: messageShape.schema },
    fast: { messages: areMessages },
  });

/** What an assistant may say in place of a content: calls of tools, that of a function in the old form, a refusal. */
function hasOtherContent({ tool_calls: calls, function_call: call, refusal }: Fields): boolean {
  return Array.isArray(calls) || isFields(call) || typeof refusal === 'string';
}

function faultOf(message: unknown): { field: string; message: string } | null {
  if (!isFields(message)) return { field: '', message: 'must be an object' };
  const { role, content } = message;
  if (role === undefined || role === null) return { field: 'role', message: 'is required' };
  if (typeof role !== 'string') return { field: 'role', message: 'must be a string' };
  if (role === '') return { field: 'role', message: 'must not be empty' };
  if (role.length > nameLengthMax)
    return { field: 'role', message: `must have at most ${nameLengthMax} characters` };
  const isContentMissing = content === undefined || content === null;
  return isContentMissing && !hasOtherContent(message) ? { field: 'content', message: 'is required' } : null;
}
