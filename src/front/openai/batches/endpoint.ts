import type { Config } from '../../../config/config.ts';
import type { JobRecord, JobRequest, JobResult } from '../../../domain/job.ts';
import type { Fields } from '../../../lib/fields.ts';
import { completionOf } from '../chat/completion.ts';
import { askedModel } from '../chat/find.ts';
import { parseChat } from '../chat/parse.ts';
import { invalidField } from '../errors.ts';
import { unsupported } from '../request.ts';
import { parseResponse } from '../responses/parse.ts';
import type { Previous } from '../responses/previous.ts';
import { responseOf } from '../responses/response.ts';

/** A request of a line, as its endpoint reads it. */
interface EndpointRequest {
  /** As the client named it. */
  model: string;
  /** Its provider and model are not decided yet. */
  job: JobRequest;
}

/** A route of `/v1` that the lines of a batch may ask for. */
interface Endpoint {
  /** What its jobs are asked for as, see `DoorRequest`. */
  form: string;
  /** @throws OpenAiError, CoordinatorError invalid_request. */
  parse(body: Fields, config: Config): Promise<EndpointRequest>;
  /** The body of the answer to a job that has its result. */
  answer(job: JobRecord, result: JobResult): object;
}

/** By path; a new one is a line here. */
export const endpoints: Readonly<Record<string, Endpoint>> = {
  '/v1/chat/completions': {
    form: 'chat',
    parse: async (body, config) => whole(parseChat(body, {}, config)),
    answer: (job, result) => completionOf(job, result, askedModel(job)),
  },
  '/v1/responses': {
    form: 'response',
    parse: async (body, config) => {
      const asked = parseResponse(body, {}, config);
      if (asked.isBackground) throw invalidField('background', 'must be false: every line of a batch is');
      const { model } = whole(asked);
      return { model, job: await asked.job(noPrevious) };
    },
    answer: (job) => responseOf(job),
  },
};

/** The paths. */
export const endpointNames = Object.keys(endpoints);

/** A line does not go on from what may not be there when it runs. */
const noPrevious: Previous = {
  messagesOf: async () => {
    throw unsupported('previous_response_id', 'give the conversation as input');
  },
  hold: async () => {},
};

function whole<T extends { isStream: boolean }>(asked: T): T {
  if (asked.isStream) throw invalidField('stream', 'must be false: a batch has no streams');
  return asked;
}
