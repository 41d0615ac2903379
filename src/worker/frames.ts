import type { Message } from '../domain/job.ts';
import type {
  AbortFrame,
  AckFrame,
  Assignment,
  CoordinatorFrame,
  WireLease,
} from '../domain/workerProtocol.ts';
import { type Fields, isFields, parseFields } from '../lib/fields.ts';

/** Called with what is wrong with a frame, without quoting its content. */
export type Report = (problem: string) => void;

/**
 * Parse one frame of the coordinator. Everything is validated first: a field of the wrong type, an unknown type, or
 * text that is not JSON is reported and skipped; a newer coordinator may send more than this worker knows.
 * @returns the frame, or null when there is nothing to act on. An `assign` holds the well-formed jobs of the frame.
 */
export function parseFrame(text: string, report: Report): CoordinatorFrame | null {
  const fields = parseFields(text);
  if (!fields) {
    report('the frame is not a JSON object');
    return null;
  }
  const reader = typeof fields.type === 'string' ? readers.get(fields.type) : undefined;
  if (!reader) {
    report(`unknown frame type ${JSON.stringify(fields.type ?? null).slice(0, 60)}`);
    return null;
  }
  const frame = reader(fields, report);
  if (!frame) report(`a ${String(fields.type)} frame lacks a field or has one of the wrong type`);
  return frame;
}

const readers = new Map<string, (fields: Fields, report: Report) => CoordinatorFrame | null>([
  ['welcome', readWelcome],
  ['assign', readAssign],
  ['abort', readAbort],
  ['ack', readAck],
  ['acks', readAcks],
  ['heartbeat_ack', (fields) => ({ type: 'heartbeat_ack', lost: leases(fields.lost) })],
  ['settings', readSettings],
  ['recall', () => ({ type: 'recall' })],
  ['error', readError],
]);

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function lease(fields: Fields): WireLease | null {
  const { job_id, lease: number } = fields;
  return isText(job_id) && job_id !== '' && isCount(number) && number > 0 ? { job_id, lease: number } : null;
}

/** Entries that are not leases are skipped: stopping the others matters more. */
function leases(value: unknown): WireLease[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown) => (isFields(item) ? (lease(item) ?? []) : []));
}

function readWelcome(fields: Fields): CoordinatorFrame | null {
  const { worker_id, paused, concurrency, heartbeat_interval_seconds: interval, server_time } = fields;
  if (!isText(worker_id) || !isCount(concurrency)) return null;
  if (typeof interval !== 'number' || !(interval > 0) || !Number.isFinite(interval)) return null;
  return {
    type: 'welcome',
    worker_id,
    paused: paused === true,
    concurrency,
    heartbeat_interval_seconds: interval,
    server_time: isText(server_time) ? server_time : '',
    lost: leases(fields.lost),
    features: Array.isArray(fields.features) ? fields.features.filter(isText) : [],
  };
}

function readAssign(fields: Fields, report: Report): CoordinatorFrame | null {
  if (!Array.isArray(fields.jobs)) return null;
  const jobs: Assignment[] = [];
  for (const item of fields.jobs as unknown[]) {
    const job = isFields(item) ? assignment(item) : null;
    if (job) jobs.push(job);
    // Neither run nor in a heartbeat: the coordinator takes it back by itself.
    else report('an assigned job lacks a field or has one of the wrong type');
  }
  return { type: 'assign', jobs };
}

function assignment(fields: Fields): Assignment | null {
  const of = lease(fields);
  const { provider, timeout_seconds: timeout = 0, attempt = 1, params = {} } = fields;
  const prompt = textOrNull(fields.prompt);
  const input = textOrNull(fields.input);
  const model = textOrNull(fields.model);
  const messages = messageList(fields.messages);
  if (!of || !isText(provider) || !isCount(attempt) || !isFields(params)) return null;
  if (prompt === undefined || input === undefined || model === undefined || messages === undefined)
    return null;
  if (typeof timeout !== 'number' || !(timeout >= 0)) return null;
  return { ...of, attempt, prompt, input, messages, params, provider, model, timeout_seconds: timeout };
}

/** @returns undefined when it is neither. */
function textOrNull(value: unknown): string | null | undefined {
  return value === null || value === undefined ? null : isText(value) ? value : undefined;
}

function messageList(value: unknown): Message[] | null | undefined {
  if (value === null || value === undefined) return null;
  if (!Array.isArray(value)) return undefined;
  return value.every(isMessage) ? value : undefined;
}

function isMessage(value: unknown): value is Message {
  return isFields(value) && isText(value.role) && ('content' in value || Array.isArray(value.tool_calls));
}

const abortReasons: readonly AbortFrame['reason'][] = ['cancelled', 'timed_out', 'lease_lost'];
const ackReasons: readonly AckFrame['reason'][] = ['lease_lost', 'unknown_job', 'not_yours'];

function readAbort(fields: Fields): CoordinatorFrame | null {
  const of = lease(fields);
  // An unknown reason from a newer coordinator still means to stop.
  const reason = abortReasons.find((known) => known === fields.reason) ?? 'lease_lost';
  return of && { type: 'abort', ...of, reason };
}

function readAck(fields: Fields): AckFrame | null {
  const of = lease(fields);
  if (!of || typeof fields.accepted !== 'boolean') return null;
  const reason = ackReasons.find((known) => known === fields.reason);
  return { type: 'ack', job_id: of.job_id, lease: of.lease, accepted: fields.accepted, reason };
}

function readAcks(fields: Fields, report: Report): CoordinatorFrame | null {
  if (!Array.isArray(fields.acks)) return null;
  const acks: AckFrame[] = [];
  for (const item of fields.acks as unknown[]) {
    const ack = isFields(item) ? readAck(item) : null;
    if (ack) acks.push(ack);
    // It is sent again after the next reconnect.
    else report('an ack lacks a field or has one of the wrong type');
  }
  return { type: 'acks', acks };
}

function readSettings(fields: Fields): CoordinatorFrame | null {
  const { paused, concurrency } = fields;
  if (paused !== undefined && typeof paused !== 'boolean') return null;
  if (concurrency !== undefined && !isCount(concurrency)) return null;
  return { type: 'settings', paused, concurrency };
}

function readError(fields: Fields): CoordinatorFrame | null {
  const { code, message } = fields;
  return isText(code) && isText(message) ? { type: 'error', code, message } : null;
}
