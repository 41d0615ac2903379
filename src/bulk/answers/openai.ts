import type { WireRunResult } from '../../domain/wire/run.ts';
import { safeJson } from '../../lib/plainText.ts';
import type { AnswerFormat } from './answer.ts';

/** The lines of OpenAI's output files. A job that did not complete has an error in place of the response. */
export const openaiAnswers: AnswerFormat = {
  name: 'openai',
  extensions: [],
  head: () => '',
  line: ({ job, result }) => {
    const isDone = result.status === 'completed';
    const line = {
      id: `batch_req_${result.job_id ?? job.id}`,
      custom_id: job.ownId ?? job.id,
      response: isDone ? responseOf(result) : null,
      error: isDone ? null : errorOf(result),
    };
    return `${safeJson(line, 0)}\n`;
  },
};

function responseOf(result: WireRunResult): object {
  const { job_id: id, model, output, tool_calls: tools, finish_reason: finish } = result;
  const { input_tokens: input, output_tokens: made } = result;
  const message = {
    role: 'assistant',
    content: output,
    refusal: null,
    ...(tools ? { tool_calls: tools } : {}),
  };
  const usage = { prompt_tokens: input, completion_tokens: made, total_tokens: (input ?? 0) + (made ?? 0) };
  return {
    status_code: 200,
    request_id: id,
    body: {
      id: `chatcmpl-${id}`,
      object: 'chat.completion',
      created: Math.floor(Date.parse(result.finished_at ?? '') / 1000) || 0,
      model,
      choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
      ...(input === null || made === null ? {} : { usage }),
    },
  };
}

/** Lines that were never tried are named as OpenAI names them. */
function errorOf({ status, error }: WireRunResult): { code: string; message: string } {
  if (error !== null) return { code: error.code, message: error.message };
  if (status === 'cancelled') return { code: 'batch_cancelled', message: 'The job was cancelled.' };
  return { code: 'not_completed', message: 'The job has not ended.' };
}
