import type { Config } from '../../../config/config.ts';
import {
  type BatchAnswer,
  type BatchFormat,
  type BatchLine,
  BatchLineFault,
  type Untried,
} from '../../../coordinator/batches/index.ts';
import type { Coordinator } from '../../../coordinator/coordinator.ts';
import type { BatchRequest } from '../../../domain/batch.ts';
import type { Clock } from '../../../domain/clock.ts';
import { CoordinatorError } from '../../../domain/errors.ts';
import type { JobRecord } from '../../../domain/job.ts';
import { type Fields, isFields } from '../../../lib/fields.ts';
import { jsonPieces } from '../../../lib/jsonPieces.ts';
import { JsonScan } from '../../../lib/jsonScan.ts';
import { hasPrototypeKey, shapeFault } from '../../../lib/jsonShape.ts';
import { errorAnswer, failedJob, OpenAiError, shownInStream } from '../errors.ts';
import type { Catalogues } from '../models.ts';
import { endpoints } from './endpoint.ts';

/** What the lines of batches are read with. */
export interface LineParts {
  catalogues: Catalogues;
  coordinator: Coordinator;
  config: () => Config;
  clock: Clock;
}

/** Lines in OpenAI's form: https://platform.openai.com/docs/api-reference/batch/request-input and request-output. */
export class OpenAiLines implements BatchFormat {
  readonly #catalogues: Catalogues;
  readonly #coordinator: Coordinator;
  readonly #config: () => Config;
  readonly #clock: Clock;

  constructor(parts: LineParts) {
    this.#catalogues = parts.catalogues;
    this.#coordinator = parts.coordinator;
    this.#config = parts.config;
    this.#clock = parts.clock;
  }

  idOf(text: string): string {
    const { custom_id: id } = lineOf(text);
    return typeof id === 'string' ? id : '';
  }

  async parse(text: string, { endpoint }: BatchRequest): Promise<BatchLine> {
    const line = checkedLine(text);
    const { custom_id: id, method, url, body } = line;
    if (typeof id !== 'string') throw missing('custom_id', id, 'a text');
    if (method !== 'POST') throw missing('method', method, 'POST');
    if (typeof url !== 'string') throw missing('url', url, endpoint);
    if (url !== endpoint) {
      const message = `The url must be that of the batch, ${endpoint}`;
      throw new BatchLineFault({ code: 'url_mismatch', message, param: 'url' });
    }
    if (!isFields(body)) throw missing('body', body, 'an object');
    try {
      return { lineId: id, request: await this.#requestOf(body, endpoint) };
    } catch (error) {
      throw faultOf(error);
    }
  }

  async #requestOf(body: Fields, endpoint: string) {
    const config = this.#config();
    const asked = await endpoints[endpoint]?.parse(body, config);
    if (asked === undefined) throw new Error(`${endpoint} is no endpoint of batches`);
    const { model, job } = asked;
    const parts = { coordinator: this.#coordinator, config, now: this.#clock.monotonic() };
    const place = await this.#catalogues.resolve(job, model, parts);
    const request = { ...job, ...place };
    // What nobody waits for comes last, unless the line says otherwise.
    const isOrdinary = body.service_tier === undefined || body.service_tier === null;
    if (!isOrdinary) return request;
    const priority = Object.hasOwn(config.jobs.priorities, 'low') ? 'low' : request.priority;
    return { ...request, tier: 'batch', priority };
  }

  answer(lineId: string, job: JobRecord | undefined, untried: Untried): BatchAnswer {
    const head = { id: job === undefined ? `batch_req_${lineId}` : requestIdOf(job), custom_id: lineId };
    if (job?.state === 'completed' && job.life.result !== null) {
      const body = endpointOf(job)?.answer(job, job.life.result);
      const response = { status_code: 200, request_id: job.id, body };
      return { isAnswer: true, pieces: lineOfJson({ ...head, response, error: null }) };
    }
    if (job?.state === 'failed') {
      const { status, json } = errorAnswer(failedJob(job));
      const response = { status_code: status, request_id: job.id, body: json };
      return { isAnswer: false, pieces: lineOfJson({ ...head, response, error: null }) };
    }
    const error = typeof untried === 'string' ? { code: untried, message: whys[untried] } : untried;
    const { code, message } = error;
    return { isAnswer: false, pieces: lineOfJson({ ...head, response: null, error: { code, message } }) };
  }
}

const whys = {
  batch_cancelled: 'The batch was cancelled before this request had ended',
  batch_expired: 'The window of the batch was over before this request was run',
} as const;

function endpointOf({ request: { door } }: JobRecord) {
  return Object.values(endpoints).find(({ form }) => form === door?.form);
}

function requestIdOf({ id }: JobRecord): string {
  return `batch_req_${id.replaceAll('-', '')}`;
}

function* lineOfJson(value: object): Generator<string> {
  yield* jsonPieces(value);
  yield '\n';
}

/** A line whose shape a request of its own may have: what walks a deeper one would overflow the stack. @throws BatchLineFault. */
function checkedLine(text: string): Fields {
  const scan = new JsonScan();
  scan.feed(Buffer.from(text));
  const fault = shapeFault(scan);
  const code = 'invalid_value';
  if (fault !== null) throw new BatchLineFault({ code, message: `The line ${fault}`, param: null });
  const line = lineOf(text);
  if (!hasPrototypeKey(line)) return line;
  const message = 'The line has a key that is refused (__proto__)';
  throw new BatchLineFault({ code, message, param: null });
}

/** @throws BatchLineFault. */
function lineOf(text: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (isFields(value)) return value;
  const message = 'The line is not a JSON object';
  throw new BatchLineFault({ code: 'invalid_json_line', message, param: null });
}

function missing(param: string, value: unknown, wanted: string): BatchLineFault {
  const isMissing = value === undefined || value === null;
  const code = isMissing ? 'missing_required_parameter' : 'invalid_value';
  const what = isMissing ? `${param} is missing` : `Invalid value for ${param}`;
  return new BatchLineFault({ code, message: `${what}: it must be ${wanted}`, param });
}

/** What of an error is the line's. @returns the error itself when it is not. */
function faultOf(error: unknown): unknown {
  const isLines =
    error instanceof OpenAiError || (error instanceof CoordinatorError && error.code === 'invalid_request');
  if (!isLines) return error;
  const { message, facts } = shownInStream(error);
  const param = facts.param === null || facts.param === undefined ? 'body' : `body.${facts.param}`;
  return new BatchLineFault({ code: facts.code, message: message.slice(0, 300), param });
}
