import { costUsdMax, millisecondsMax, nameLengthMax, tokensMax } from '../domain/limits.ts';
import { leasesMax } from '../domain/workerProtocol.ts';
import { type Fields, isFields } from '../lib/fields.ts';

const isWhole = (value: unknown, min: number, max: number): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
const isLeftOutOr = (value: unknown, isRight: (value: unknown) => boolean): boolean =>
  value === undefined || isRight(value);

export const isLease = ({ job_id, lease }: Fields): boolean =>
  typeof job_id === 'string' &&
  job_id !== '' &&
  job_id.length <= nameLengthMax &&
  isWhole(lease, 1, Number.MAX_SAFE_INTEGER);
const isTokens = (value: unknown): boolean => isLeftOutOr(value, (count) => isWhole(count, 0, tokensMax));
const isMilliseconds = (value: unknown): boolean =>
  isLeftOutOr(value, (ms) => typeof ms === 'number' && ms >= 0 && ms <= millisecondsMax);

const isDollars = (value: unknown): boolean =>
  isLeftOutOr(value, (cost) => typeof cost === 'number' && cost >= 0 && cost <= costUsdMax);

const isUsage = (value: unknown): boolean =>
  isFields(value) &&
  isTokens(value.input_tokens) &&
  isTokens(value.output_tokens) &&
  isTokens(value.cached_input_tokens) &&
  isTokens(value.cache_write_tokens) &&
  isTokens(value.reasoning_tokens) &&
  isTokens(value.total_tokens) &&
  isDollars(value.cost_usd);

const isResult = (value: unknown): boolean =>
  isFields(value) &&
  typeof value.output === 'string' &&
  value.tool_calls === undefined &&
  isLeftOutOr(value.finish_reason, (reason) => typeof reason === 'string') &&
  isLeftOutOr(value.model, (model) => model === null || typeof model === 'string') &&
  isLeftOutOr(value.usage, isUsage) &&
  value.raw_usage !== null &&
  isMilliseconds(value.latency_ms) &&
  isMilliseconds(value.first_token_ms);

/** Whether it is a call of a tool that the model wants, in OpenAI's shape. */
export const isToolCall = (value: unknown): boolean => {
  if (!isFields(value) || typeof value.id !== 'string' || value.type !== 'function') return false;
  const { function: called } = value;
  return (
    isFields(called) &&
    typeof called.name === 'string' &&
    called.name !== '' &&
    typeof called.arguments === 'string'
  );
};

/**
 * Whether a frame is one of those that come all the time (a result without calls of tools, a piece of output, a
 * heartbeat that lists its leases) and is well formed without any doubt: in 1 µs instead of the 30 that the schema takes,
 * a tenth of all that a job cost. What it does not accept goes to the schema, which decides and names the faults; a
 * property test holds that the schema accepts everything that this does.
 */
export function isPlainFrame(frame: Fields): boolean {
  switch (frame.type) {
    case 'complete':
      return isLease(frame) && isResult(frame.result);
    case 'chunk':
      return (
        isLease(frame) && typeof frame.text === 'string' && isWhole(frame.seq, 0, Number.MAX_SAFE_INTEGER)
      );
    case 'heartbeat': {
      const { running, models } = frame;
      return (
        models === undefined &&
        Array.isArray(running) &&
        running.length <= leasesMax &&
        running.every((one: unknown) => isFields(one) && isLease(one))
      );
    }
    default:
      return false;
  }
}
