import type { Outcome } from '../coordinator/jobs/index.ts';
import { type ChunkPart, joinedParts, lengthOfPart } from '../domain/chunkParts.ts';
import type { ReportedFailure } from '../domain/failure.ts';
import type { ToolCall } from '../domain/job.ts';
import { nameLengthMax } from '../domain/limits.ts';
import { type Usage, usageFromWire, type WireUsage } from '../domain/usage.ts';
import {
  type ChunkFrame,
  chunkLengthMax,
  messageLengthMax,
  outputBytesMax,
  outputTexts,
  type WireFailure,
  type WireResult,
} from '../domain/workerProtocol.ts';
import { cutText } from '../lib/cutText.ts';
import { isLargerThan } from '../lib/utf8.ts';

/* A worker's report about an outcome, in the coordinator's form. Long texts are cut, so that the job ends anyway; only
   an output beyond its limit fails an attempt. */

/** Bytes of JSON; the largest known of a provider is 1 KiB. */
const rawUsageMax = 16 * 1024;

export function failureFromWire(wire: WireFailure): ReportedFailure {
  const { class: errorClass, message, status, code, retry_after_seconds: seconds } = wire;
  return {
    class: errorClass,
    message: cutMessage(message),
    status: status ?? null,
    code: code === undefined ? null : cutText(code, nameLengthMax),
    retryAfterMs: seconds === undefined ? null : Math.ceil(seconds * 1000),
  };
}

/**
 * A result as an outcome: a failure when its output is larger than `outputBytesMax`, with the usage, because it was
 * paid for.
 */
export function outcomeFromWire(result: WireResult): Outcome {
  const { output, tool_calls, finish_reason, model, usage, raw_usage, latency_ms, first_token_ms } = result;
  if (isLargerThan(outputBytesMax, outputTexts(output, tool_calls))) {
    return { type: 'fail', failure: tooLarge, usage: usageOrNull(usage), begun: true };
  }
  return {
    type: 'complete',
    output,
    toolCalls: tool_calls?.length ? tool_calls.map(keptToolCall) : undefined,
    finishReason: cutText(finish_reason ?? 'stop', nameLengthMax),
    model: keptModel(model ?? null),
    usage: usageOrNull(usage),
    rawUsage: keptRawUsage(raw_usage),
    latencyMs: latency_ms ?? 0,
    firstTokenMs: first_token_ms ?? null,
  };
}

/**
 * A piece of output, for viewers: the parts that are known here, with their known members, cut to `chunkLengthMax`
 * characters together.
 */
export function partsFromWire({ text = '', parts }: ChunkFrame): ChunkPart[] {
  if (parts === undefined) return text === '' ? [] : [{ type: 'text', text: cutText(text, chunkLengthMax) }];
  const kept: ChunkPart[] = [];
  let room = chunkLengthMax;
  for (const given of parts) {
    const part = keptPart(given, room);
    if (part !== null) kept.push(part);
    room -= part === null ? 0 : lengthOfPart(part);
    if (room <= 0) break;
  }
  return joinedParts(kept);
}

/** null when there is nothing in it, or it is of a type that is not known here. */
function keptPart(part: ChunkPart, room: number): ChunkPart | null {
  const { type } = part;
  if (type === 'text' || type === 'reasoning') {
    return part.text === '' ? null : { type, text: cutText(part.text, room) };
  }
  if (type !== 'tool_call') return null;
  const { index, id, name, arguments: json } = part;
  if (id === undefined && name === undefined && json === '') return null;
  return {
    type,
    index,
    ...(id === undefined ? {} : { id: cutText(id, nameLengthMax) }),
    ...(name === undefined ? {} : { name: cutText(name, nameLengthMax) }),
    arguments: cutText(json, room),
  };
}

/** A provider's own form of the usage; omitted when it is too large to be stored with every result. */
export function keptRawUsage(raw: unknown): unknown {
  return raw === undefined || raw === null || JSON.stringify(raw).length > rawUsageMax ? undefined : raw;
}

/** null when the worker reports neither input, output nor cost: that differs from 0. */
export function usageOrNull(wire: Partial<WireUsage> | undefined): Usage | null {
  if (wire === undefined) return null;
  const { input_tokens: input, output_tokens: output, cost_usd: cost } = wire;
  if (input === undefined && output === undefined && cost === undefined) return null;
  const usage = usageFromWire(wire);
  return input === undefined || output === undefined ? { ...usage, isPartial: true } : usage;
}

function cutMessage(message: string): string {
  if (message.length <= messageLengthMax) return message;
  return `${cutText(message, messageLengthMax)} … (cut; it had ${message.length} characters)`;
}

/** A text that is too long for a model's name counts as not reported. */
export function keptModel(model: string | null): string | null {
  return model === null || model.length > nameLengthMax ? null : model;
}

function keptToolCall({ id, type, function: called }: ToolCall): ToolCall {
  return {
    id: cutText(id, nameLengthMax),
    type,
    function: { name: cutText(called.name, nameLengthMax), arguments: called.arguments },
  };
}

const tooLarge: ReportedFailure = {
  class: 'invalid_request',
  code: 'result_too_large',
  message: `The output is larger than the ${outputBytesMax / 1024 / 1024} MiB that the output of a job may have; ask for less of it, for instance with max_tokens`,
  status: null,
  retryAfterMs: null,
};
