import OpenAI from 'openai';
import { now, type Order, type Reply, setupVariable } from '../support/messages.ts';
import { apiKeyOfProvider } from '../support/providers.ts';
import { promptText } from './limits.ts';
import { bulkModel, type RunnerSetup } from './messages.ts';

/**
 * The script that people write: some calls at once, as with `p-limit`, and OpenAI's own package, which tries again after
 * a 429 when `retry-after` says.
 */
const send = (reply: Reply): void => void process.send?.(reply);
const { baseUrl, prompts, concurrency, retries }: RunnerSetup = JSON.parse(process.env[setupVariable] ?? '');
const client = new OpenAI({ apiKey: apiKeyOfProvider, baseURL: baseUrl, maxRetries: retries });

process.on('message', ({ type }: Order) => {
  if (type === 'work') void work();
});
process.on('disconnect', () => process.exit(0));
send({ type: 'ready', url: '' });

async function work(): Promise<void> {
  const firstAt = now();
  let next = 0;
  let answered = 0;
  const takeNext = async (): Promise<void> => {
    while (next < prompts) {
      const prompt = next++;
      try {
        await client.chat.completions.create({
          model: bulkModel,
          messages: [{ role: 'user', content: promptText(prompt) }],
        });
        answered += 1;
      } catch (error) {
        process.stderr.write(`prompt ${prompt}: ${String(error)}\n`);
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, takeNext));
  send({ type: 'worked', jobs: answered, firstAt, lastAt: now() });
}
