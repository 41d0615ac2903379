/**
 * What may be shown of events and contexts: the names of fields that hold no words of those who use the service. It is a
 * list of what is allowed, so that a field that is new stays hidden until somebody has thought about it. Prompts, inputs
 * and outputs, the messages of errors (providers quote prompts in them), reasons, hosts and keys are not on it.
 */
const shown = new Set([
  // Jobs.
  'strategy',
  'target',
  'chain',
  'priority',
  'enqueuedAt',
  'delayedUntil',
  'lease',
  'attempts',
  'number',
  'workerId',
  'provider',
  'model',
  'worker',
  'workerTag',
  'startedAt',
  'finishedAt',
  'outcome',
  'retryCount',
  'reapCount',
  'releaseCount',
  'updatedAt',
  'turns',
  'event',
  'to',
  // What an attempt used and cost, and how it failed.
  'usage',
  'inputTokens',
  'outputTokens',
  'cachedInputTokens',
  'reasoningTokens',
  'totalTokens',
  'cost',
  'nanoDollars',
  'status',
  'error',
  'class',
  // Events.
  'type',
  'at',
  'retryAt',
  'retryAfterMs',
  'next',
  'others',
  'able',
  'untried',
  'timeoutMs',
  'maxReaps',
  'latencyMs',
  'firstTokenMs',
  // Workers.
  'id',
  'name',
  'kind',
  'providers',
  'tags',
  'concurrency',
  'declaredConcurrency',
  'wantedConcurrency',
  'owner',
  'keyId',
  'paused',
  'version',
  'connectedAt',
  'lastHeartbeatAt',
  'hello',
  // Health of workers.
  'fault',
  'inRow',
  'since',
  'trial',
  'jobId',
  // Providers.
  'until',
  'limitsInRow',
  'opensInRow',
  'probeSent',
  'changedAt',
  'probingSince',
  'returnsUntil',
  'ramp',
  'window',
  'failed',
  'askedMs',
  'jitter',
  'began',
  'monotonic',
  'underWay',
  'ableWorkers',
  'rules',
  'rateLimit',
  'maxConcurrent',
  'retryAfterSeconds',
  'maxRetries',
  'retryAfterMaxSeconds',
  'breaker',
  'ratio',
  'minimum',
  'windowSeconds',
  'openSeconds',
]);

const textLengthMax = 200;
/** Of a list the last ones: of attempts and turns they matter most. */
const itemsMax = 5;
const depthMax = 5;

/** The part of a value that may be shown, as plain JSON, small. */
export function inspectable(value: object): Record<string, unknown> {
  return fieldsOf(value, depthMax);
}

function fieldsOf(value: object, depth: number): Record<string, unknown> {
  const fields = Object.entries(value).filter(([name, field]) => shown.has(name) && isPlain(field));
  return Object.fromEntries(fields.map(([name, field]) => [name, partOf(field, depth - 1)]));
}

function isPlain(value: unknown): boolean {
  return value === null || ['boolean', 'number', 'string', 'object'].includes(typeof value);
}

function partOf(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.slice(0, textLengthMax);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return null;
  if (Array.isArray(value)) return value.slice(-itemsMax).map((item) => partOf(item, depth - 1));
  return fieldsOf(value, depth);
}
