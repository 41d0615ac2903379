import { type Answer, FakeServer } from '../fixtures/providers/server.ts';
import type { Owner } from '../support/folder.ts';

const usage = { prompt_tokens: 40, completion_tokens: 12, total_tokens: 52 };

/** A server that takes the place of Ollama, vLLM and OpenAI. A request with a schema gets a label. */
export async function startModels(t: Owner): Promise<FakeServer> {
  const server = await FakeServer.listen(answer);
  t.teardown(() => server.close());
  const tags = { models: [{ name: 'llama3.2:3b', model: 'llama3.2:3b' }] };
  server.gets.set('/api/tags', ({ response }) => void response.end(JSON.stringify(tags)));
  const models = {
    object: 'list',
    data: ['Qwen/Qwen3-8B', 'gpt-5-mini', 'gpt-4.1-mini'].map((id) => ({ id })),
  };
  server.gets.set('/v1/models', ({ response }) => void response.end(JSON.stringify(models)));
  return server;
}

const answer: Answer = ({ asked, response }) => {
  const { model, response_format: format } = asked.body;
  const content = format === undefined ? 'An answer, with a comma.' : '{"label": "billing"}';
  if (asked.path === '/api/chat') {
    const line = (more: object) =>
      `${JSON.stringify({ model, created_at: new Date().toISOString(), ...more })}\n`;
    const counts = { prompt_eval_count: usage.prompt_tokens, eval_count: usage.completion_tokens };
    const end = { message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop', ...counts };
    response.end(line({ message: { role: 'assistant', content }, done: false }) + line(end));
    return;
  }
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model, ...more })}\n\n`;
  const delta = (part: object, reason: string | null) => ({
    choices: [{ index: 0, delta: part, finish_reason: reason }],
  });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(chunk(delta({ role: 'assistant', content }, null)));
  response.end(`${chunk(delta({}, 'stop'))}${chunk({ choices: [], usage })}data: [DONE]\n\n`);
};
