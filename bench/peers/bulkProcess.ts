import { Queue, Worker } from 'bullmq';
import OpenAI from 'openai';
import { promptText } from '../bulk/limits.ts';
import { bulkModel, type RunnerSetup } from '../bulk/messages.ts';
import { now, type Order, type Reply, setupVariable } from '../support/messages.ts';
import { apiKeyOfProvider } from '../support/providers.ts';

/**
 * A BullMQ worker that calls a provider as its guide says (docs.bullmq.io, "Rate limiting", November 2026): `limiter` for
 * a rate that is known, and for a 429 a manual rate limit of the queue with `RateLimitError`, which puts the job back
 * without counting an attempt. For other errors attempts with exponential backoff ("Retrying failing jobs").
 */
const send = (reply: Reply): void => void process.send?.(reply);
const setup: RunnerSetup = JSON.parse(process.env[setupVariable] ?? '');
const { baseUrl, prompts, concurrency, retries, perSecond } = setup;
const { hostname: host, port } = new URL(setup.redisUrl);
const connection = { host, port: Number(port), maxRetriesPerRequest: null };
const name = new URL(baseUrl).pathname.split('/')[1] ?? '';
const client = new OpenAI({ apiKey: apiKeyOfProvider, baseURL: baseUrl, maxRetries: 0 });
/** When a 429 does not say, ms. */
const unsaidMs = 1_000;

const queue = new Queue<{ prompt: number }>(name, {
  connection,
  defaultJobOptions: { attempts: retries + 1, backoff: { type: 'exponential', delay: 1_000 } },
});
const worker = new Worker<{ prompt: number }>(name, ({ data }) => ask(data.prompt), {
  connection,
  concurrency,
  autorun: false,
  ...(perSecond === null ? {} : { limiter: { max: perSecond, duration: 1_000 } }),
});
await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);

process.on('message', ({ type }: Order) => {
  if (type === 'work') void work();
});
process.on('disconnect', () => process.exit(0));
send({ type: 'ready', url: '' });

async function ask(prompt: number): Promise<string | null> {
  try {
    const { choices } = await client.chat.completions.create({
      model: bulkModel,
      messages: [{ role: 'user', content: promptText(prompt) }],
    });
    return choices[0]?.message.content ?? null;
  } catch (error) {
    if (!(error instanceof OpenAI.RateLimitError)) throw error;
    const seconds = Number(error.headers?.get('retry-after'));
    await queue.rateLimit(seconds > 0 ? seconds * 1000 : unsaidMs);
    throw Worker.RateLimitError();
  }
}

async function work(): Promise<void> {
  const firstAt = now();
  let answered = 0;
  let failed = 0;
  const count = (): void => {
    if (answered + failed === prompts) send({ type: 'worked', jobs: answered, firstAt, lastAt: now() });
  };
  worker.on('completed', () => {
    answered += 1;
    count();
  });
  worker.on('failed', (job) => {
    // Undefined: the job is gone. An attempt is left: it comes again.
    if (job !== undefined && job.attemptsMade < retries + 1) return;
    failed += 1;
    count();
  });
  worker.on('error', (error) => process.stderr.write(`${error.stack}\n`));
  const jobs = Array.from({ length: prompts }, (_, prompt) => ({ name: 'ask', data: { prompt } }));
  await queue.addBulk(jobs);
  await worker.run();
}
