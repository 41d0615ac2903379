import type { Message, ToolCall } from '../../../domain/job.ts';
import { messagesMax } from '../../../http/routes/jobs/limits.ts';
import { type Fields, isFields } from '../../../lib/fields.ts';
import { invalidField } from '../errors.ts';
import { isGiven, unsupported } from '../request.ts';
import type { FunctionTools } from './tools.ts';

/** A message of a chat as it is stored, with the members that only some have. */
interface ChatMessage extends Message {
  tool_calls?: ToolCall[];
  tool_call_id?: string;
}

/**
 * The input of a response as messages of a chat. Calls of tools and the text of the assistant that follow each other are one
 * message. What a model has thought and items of unknown types are left out.
 * @throws OpenAiError that names the item.
 */
export function messagesOf(input: unknown, functions: FunctionTools): Message[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  if (!Array.isArray(input)) throw invalidField('input', 'must be a string or a list of items');
  if (input.length > messagesMax) throw invalidField('input', `must have at most ${messagesMax} items`);
  const messages: ChatMessage[] = [];
  for (const [index, item] of input.entries()) addItem(messages, item, `input[${index}]`, functions);
  return messages;
}

function addItem(messages: ChatMessage[], item: unknown, at: string, functions: FunctionTools): void {
  if (!isFields(item)) throw invalidField(at, 'must be an object');
  const { type, role } = item;
  // Its type may be left out.
  if (type === 'item_reference' || (!isGiven(type) && !isGiven(role) && isGiven(item.id))) {
    throw unsupported(at, 'send the item itself, or previous_response_id for all of a response');
  }
  if (type === 'message' || (!isGiven(type) && isGiven(role))) {
    if (typeof role !== 'string') throw invalidField(`${at}.role`, 'must be a string');
    addMessage(messages, { role, content: contentOf(item.content, `${at}.content`, role === 'assistant') });
  } else if (type === 'function_call' || type === 'custom_tool_call') {
    addCall(messages, callOf(item, at, functions));
  } else if (type === 'function_call_output' || type === 'custom_tool_call_output') {
    const { call_id: id, output } = item;
    if (typeof id !== 'string') throw invalidField(`${at}.call_id`, 'must be a string');
    messages.push({ role: 'tool', tool_call_id: id, content: contentOf(output, `${at}.output`, false) });
  }
}

/** Providers take nothing between calls and their outputs: what the assistant says after its calls joins them. */
function addMessage(messages: ChatMessage[], message: ChatMessage): void {
  const last = messages.at(-1);
  const hasCalls = last?.role === 'assistant' && last.tool_calls !== undefined;
  if (last === undefined || !hasCalls || message.role !== 'assistant') messages.push(message);
  else last.content = isGiven(last.content) ? `${last.content}\n\n${message.content}` : message.content;
}

function callOf(item: Fields, at: string, functions: FunctionTools): ToolCall {
  const { type, call_id: id, name, namespace, arguments: given, input } = item;
  if (typeof id !== 'string') throw invalidField(`${at}.call_id`, 'must be a string');
  if (typeof name !== 'string') throw invalidField(`${at}.name`, 'must be a string');
  const json = type === 'custom_tool_call' ? JSON.stringify({ input }) : (given ?? '{}');
  if (typeof json !== 'string') throw invalidField(`${at}.arguments`, 'must be JSON as a string');
  const called = { name: functions.flatNameOf(name, namespace), arguments: json };
  return { id, type: 'function', function: called };
}

function addCall(messages: ChatMessage[], call: ToolCall): void {
  const last = messages.at(-1);
  if (last?.role !== 'assistant') messages.push({ role: 'assistant', content: null, tool_calls: [call] });
  else if (last.tool_calls === undefined) last.tool_calls = [call];
  else last.tool_calls.push(call);
}

/** Text where it is nothing else: some servers take no lists. @param isText of an assistant, who has said nothing but text. */
function contentOf(content: unknown, at: string, isText: boolean): unknown {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw invalidField(at, 'must be a string or a list');
  const parts = content.map((part, index) => partOf(part, `${at}[${index}]`));
  const [first] = parts;
  if (isText) return parts.map((part) => part.text ?? '').join('');
  return parts.length === 1 && first?.type === 'text' ? first.text : parts;
}

function partOf(part: unknown, at: string): Fields {
  if (!isFields(part)) throw invalidField(at, 'must be an object');
  if (isGiven(part.file_id)) throw unsupported(`${at}.file_id`, 'send the content itself');
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: stringOf(part, 'text', at) };
    case 'refusal':
      return { type: 'text', text: stringOf(part, 'refusal', at) };
    case 'input_image': {
      const url = stringOf(part, 'image_url', at);
      return {
        type: 'image_url',
        image_url: { url, ...(isGiven(part.detail) ? { detail: part.detail } : {}) },
      };
    }
    case 'input_file': {
      if (isGiven(part.file_url)) throw unsupported(`${at}.file_url`, 'send file_data');
      const { filename } = part;
      const data = stringOf(part, 'file_data', at);
      return { type: 'file', file: { file_data: data, ...(isGiven(filename) ? { filename } : {}) } };
    }
    default:
      throw invalidField(`${at}.type`, 'must be input_text, input_image, input_file, output_text or refusal');
  }
}

function stringOf(part: Fields, name: string, at: string): string {
  const value = part[name];
  if (typeof value === 'string') return value;
  throw invalidField(`${at}.${name}`, 'must be a string');
}

/** An item of a response's input, as it is listed. */
export interface InputItem extends Fields {
  id: string;
  type: string;
}

/** The messages of a chat as items. @param digits of the job. */
export function inputItems(
  messages: readonly ChatMessage[],
  digits: string,
  functions: FunctionTools,
): InputItem[] {
  const items: InputItem[] = [];
  const idOf = (prefix: string): string => `${prefix}_in_${digits}_${items.length}`;
  const status = 'completed';
  for (const { role, content, tool_calls: calls = [], tool_call_id: callId } of messages) {
    if (role === 'tool') {
      const output = typeof content === 'string' ? content : shownParts(content, false);
      items.push({ id: idOf('fco'), type: 'function_call_output', call_id: callId ?? '', output, status });
      continue;
    }
    if (isGiven(content) && (content !== '' || calls.length === 0)) {
      const shown = shownParts(content, role === 'assistant');
      items.push({ id: idOf('msg'), type: 'message', role, content: shown, status });
    }
    for (const { id, function: called } of calls) {
      const named = { ...functions.calledName(called.name), arguments: called.arguments };
      items.push({ id: idOf('fc'), type: 'function_call', call_id: id, ...named, status });
    }
  }
  return items;
}

function shownParts(content: unknown, isOutput: boolean): Fields[] {
  const parts: unknown[] = Array.isArray(content) ? content : [{ type: 'text', text: content }];
  return parts.map((part) => shownPart(isFields(part) ? part : {}, isOutput));
}

function shownPart(part: Fields, isOutput: boolean): Fields {
  const { image_url: image, file, text } = part;
  if (isFields(image)) return { type: 'input_image', detail: image.detail ?? 'auto', image_url: image.url };
  if (isFields(file)) return { type: 'input_file', ...file };
  return isOutput ? { type: 'output_text', text, annotations: [] } : { type: 'input_text', text };
}
