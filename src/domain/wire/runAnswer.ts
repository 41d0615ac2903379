import type { WireRunResult } from './run.ts';

/** The columns of an answer in CSV, in order, after the id of the line. */
export const answerColumns = [
  'status',
  'output',
  'error',
  'model',
  'provider',
  'input_tokens',
  'output_tokens',
  'cost_usd',
  'attempts',
  'job_id',
] as const;

/** The cells of an answer, in the order of `answerColumns`. */
export function answerCells(result: WireRunResult): (string | number | null)[] {
  const { error } = result;
  const flat = { ...result, error: error === null ? null : `${error.class}: ${error.message}` };
  return answerColumns.map((name) => flat[name]);
}

/**
 * A line of the output file of OpenAI's batch API, https://platform.openai.com/docs/api-reference/batch/request-output:
 * `response` of one that was answered, `error` of one that was not.
 */
export function openAiLine(result: WireRunResult): object {
  const { line_id, job_id, status, error } = result;
  const head = { id: job_id ?? `line_${line_id}`, custom_id: line_id };
  if (status === 'completed') {
    return {
      ...head,
      response: { status_code: 200, request_id: job_id, body: completionOf(result) },
      error: null,
    };
  }
  const why =
    error === null
      ? {
          code: status ?? 'not_sent',
          message: status === null ? 'The run does not have this line' : `The job is ${status}`,
        }
      : { code: error.code, message: error.message };
  return { ...head, response: null, error: why };
}

function completionOf(result: WireRunResult): object {
  const { job_id, model, output, tool_calls, finish_reason, input_tokens, output_tokens, finished_at } =
    result;
  const input = input_tokens ?? 0;
  const generated = output_tokens ?? 0;
  return {
    id: `chatcmpl-${job_id}`,
    object: 'chat.completion',
    created: finished_at === null ? 0 : Math.floor(Date.parse(finished_at) / 1000),
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: output,
          ...(tool_calls === undefined ? {} : { tool_calls }),
        },
        finish_reason,
      },
    ],
    usage: { prompt_tokens: input, completion_tokens: generated, total_tokens: input + generated },
  };
}
