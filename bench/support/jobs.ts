import { beginLife, type JobRecord, type JobRequest } from '../../src/domain/job.ts';

/** The provider that the bench's workers serve. */
export const served = 'echo';
/** A provider that nobody serves: its jobs wait for ever, in a lane of their own. */
export const unserved = 'elsewhere';

const sentence = 'Summarise the following support ticket in two sentences and name the product it is about. ';

/** A prompt of exactly `bytes` ASCII characters that begins with `label`. */
export function promptOf(label: string, bytes: number): string {
  const start = `${label}: `;
  return (start + sentence.repeat(Math.ceil(bytes / sentence.length))).slice(0, bytes);
}

/** What a client asks for, with nothing special about it. */
export function requestOf(provider: string, prompt: string): JobRequest {
  return {
    prompt,
    input: null,
    messages: null,
    provider,
    model: null,
    priority: 'normal',
    tier: null,
    tags: ['bench'],
    params: { temperature: 0.2 },
    metadata: {},
    timeoutSeconds: null,
    notBefore: null,
  };
}

/** The same as the body of POST /api/jobs. @param input what distinguishes this job from others when it is assigned. */
export function bodyOf(provider: string, prompt: string, input?: string): string {
  return JSON.stringify({ provider, prompt, input, tags: ['bench'], params: { temperature: 0.2 } });
}

/** Bodies to take turns with: different texts, made before the clock runs. */
export function bodiesOf(provider: string, promptBytes: number, count = 64): string[] {
  return Array.from({ length: count }, (_, index) =>
    bodyOf(provider, promptOf(`ticket ${index}`, promptBytes)),
  );
}

/** A job as the store keeps it before anything has happened to it. */
export function pendingJob(id: string, ordinal: number, request: JobRequest): JobRecord {
  const now = Date.now();
  return {
    id,
    ordinal,
    version: 1,
    createdAt: now,
    createdBy: null,
    request,
    state: 'pending.ready',
    life: beginLife({
      strategy: 'direct',
      target: { provider: request.provider ?? '', model: request.model, worker: null, workerTag: null },
      chain: [],
      route: [],
      priority: request.priority,
      createdAt: now,
      notBefore: null,
    }),
  };
}
