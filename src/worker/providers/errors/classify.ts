import type { IncomingHttpHeaders } from 'node:http';
import { type ErrorClass, modelLoadingCode } from '../../../domain/failure.ts';
import type { WireFailure } from '../../../domain/workerProtocol.ts';
import { type ErrorBody, readErrorBody } from './errorBody.ts';
import { retryAfterSeconds } from './retryAfter.ts';

/** An error answer of a provider, or an error in the middle of an answer. */
export interface ErrorResponse {
  /** null: an error inside an answer that had begun with 200. */
  status: number | null;
  headers: IncomingHttpHeaders;
  /** The body's text, or the parsed event of the stream. */
  body: unknown;
}

/** The provider of an error. */
export interface ErrorSource {
  /** The provider's name, for messages. */
  name: string;
  /** Removes secrets from a text: keys, and the job's content. */
  hide: (text: string) => string;
  /** Appended to the message of a context_overflow: advice for this provider. */
  overflowHelp?: string;
}

const messageMax = 300;

/** The input of the rules. */
interface Facts {
  status: number | null;
  labels: readonly string[];
  message: string;
  details: readonly unknown[];
}

interface Rule {
  errorClass: ErrorClass;
  /** Labels of the provider; they decide before the status does. */
  labels?: RegExp;
  message?: RegExp;
  /** The statuses for which the message counts; absent: all. */
  messageStatuses?: (status: number | null) => boolean;
  statuses?: readonly number[];
  also?: (facts: Facts) => boolean;
}

const isClientFault = (status: number | null): boolean =>
  status === null || status < 429 || (status >= 500 && status !== 503);

/**
 * The first rule that matches decides. Sources, read in November 2026: https://docs.claude.com/en/api/errors,
 * https://platform.openai.com/docs/guides/error-codes, https://ai.google.dev/gemini-api/docs/troubleshooting,
 * https://openrouter.ai/docs/errors, ollama docs/api/errors.mdx, llama.cpp tools/server/README.md, vLLM's
 * entrypoints/openai, and the texts that users of LM Studio quote.
 */
const rules: readonly Rule[] = [
  // The server does not have the path: base_url is wrong. LM Studio reports it with a 200, llama.cpp as
  // `not_found_error`.
  {
    errorClass: 'unknown',
    message: /^(unexpected endpoint|file not found|not found|invalid url|unknown request url)\b/i,
    messageStatuses: (status) => status === null || status === 404,
  },
  {
    errorClass: 'model_not_loaded',
    labels: /^model_not_loaded$/,
    // LM Studio: "No models loaded. Please load a model …", "Model is unloaded."; llama.cpp: 503 "Loading model";
    // ollama: "model requires more system memory (8.4 GiB) than is available (5.1 GiB)".
    message:
      /no models? (is |are )?(currently )?loaded|model (is |was )?(unloaded|not loaded)|(failed|unable) to load (the )?model|loading model|requires more system memory/i,
  },
  {
    errorClass: 'model_not_found',
    labels: /^(model_not_found|notfounderror|model_not_available|model_not_exist|deploymentnotfound)$/,
    // "model "x" not found, try pulling it first", "The model `x` does not exist or you do not have access to it",
    // "models/x is not found for API version v1beta", "x is not a valid model ID", "Invalid model identifier "x"".
    message:
      /models?\b.{0,200}\b(not found|does ?n[o']t exist|not exist)|not a valid model|invalid model\b|unknown model|no such model|no endpoints found for|try pulling it/i,
    messageStatuses: (status) => isClientFault(status) && status !== 401,
  },
  // Anthropic: `model: claude-x`; nothing else in our requests can be missing there.
  { errorClass: 'model_not_found', labels: /^not_found_error$/, message: /^models?:/i },
  {
    errorClass: 'context_overflow',
    labels: /^(context_length_exceeded|exceed_context_size_error|model_context_window_exceeded)$/,
    // "prompt is too long: 210000 tokens > 200000 maximum", "The input token count (…) exceeds the maximum number of
    // tokens allowed", "This model's maximum context length is …", "longer than the maximum model length", and a single
    // request above a limit per minute, which waiting does not make smaller.
    message:
      /context (length|window|size|limit)|available context|maximum context|max(imum)?[_ ]model[_ ]len|prompt is too long|input is too long|too many (input |prompt )?tokens|token count .*exceeds|exceeds? the maximum number of (input )?tokens|reduce the length/i,
    messageStatuses: isClientFault,
  },
  { errorClass: 'context_overflow', message: /request too large/i },
  {
    errorClass: 'quota_exhausted',
    labels:
      /^(insufficient_quota|credit_balance_exhausted|billing_error|billing_hard_limit_reached|billing_not_active|quota_exceeded|usage_limit_reached)$/,
    // xAI, a 403: "Your newly created team doesn't have any credits yet".
    message: /credit balance is too low|insufficient (balance|credits|funds)|have any credits/i,
    statuses: [402],
    also: isDailyQuota,
  },
  {
    errorClass: 'content_filtered',
    labels:
      /^(content_filter|content_policy_violation|moderation_blocked|responsibleaipolicyviolation|prohibited_content)$/,
    message:
      /content management policy|content policy|requires moderation|was flagged|safety (system|filter)/i,
    messageStatuses: (status) => status === null || status < 429,
  },
  {
    errorClass: 'auth',
    labels:
      /^(invalid_api_key|authentication_error|permission_error|permission_denied|unauthenticated|api_key_invalid|account_deactivated)$/,
    message:
      /(incorrect|invalid|missing|expired|no) api key|api key (not valid|not found|expired)|unauthorized/i,
    messageStatuses: (status) => status === null || status < 429,
    statuses: [401, 403],
  },
  {
    errorClass: 'overloaded',
    labels:
      /^(overloaded_error|server_is_overloaded|slow_down|engine_overloaded|unavailable|unavailable_error)$/,
    // Ollama: "server busy, please try again.  maximum pending requests exceeded"; LM Studio: "Channel Error".
    message: /overloaded|server busy|channel error/i,
    messageStatuses: (status) => status === null || status >= 500,
    statuses: [503, 529],
  },
  {
    errorClass: 'rate_limited',
    labels: /^(rate_limit_exceeded|rate_limit_error|rate_limited|resource_exhausted|too_many_requests)$/,
    message: /rate limit|too many requests/i,
    messageStatuses: (status) => status === null,
    statuses: [429],
  },
  // A proxy in between cannot reach it.
  { errorClass: 'network', statuses: [502] },
  {
    errorClass: 'timeout',
    labels: /^(deadline_exceeded|timeout_error|request_timeout)$/,
    statuses: [408, 504, 524],
  },
  {
    errorClass: 'invalid_request',
    labels:
      /^(invalid_request_error|invalid_argument|badrequesterror|bad_request|failed_precondition|request_too_large|not_supported_error)$/,
    // llama.cpp, each a 500: "tools param requires --jinja flag", "image input is not supported - hint: …".
    message: /\bparam requires\b|\b(image|audio|video) input is not supported\b/i,
    statuses: [400, 413, 414, 422, 501],
  },
];

/** Gemini uses the same words for limits per minute and per day; the quota's id distinguishes them. */
function isDailyQuota({ details }: Facts): boolean {
  return /"quotaId":"[^"]*PerDay/.test(JSON.stringify(details));
}

/** The status of a label inside a 200: the same error has it when it precedes the answer. */
const statusOfLabel: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  invalid_argument: 400,
  authentication_error: 401,
  invalid_api_key: 401,
  billing_error: 402,
  permission_error: 403,
  permission_denied: 403,
  not_found_error: 404,
  model_not_found: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  resource_exhausted: 429,
  insufficient_quota: 429,
  api_error: 500,
  server_error: 500,
  internal: 500,
  overloaded_error: 529,
  server_is_overloaded: 503,
  unavailable: 503,
  timeout_error: 504,
};

/**
 * The one place where a provider's error gets its class. Labels and sentences are checked before the status: a missing
 * key is a 400 at Google, missing credit a 429 at OpenAI, and inside an answer there is no status at all.
 * @param now epoch ms, for dates in Retry-After.
 * @returns a failure with the words that users look for (spec, "Errors"), and no key in it.
 */
export function classify(
  { status, headers, body }: ErrorResponse,
  source: ErrorSource,
  now: number,
): WireFailure {
  if (status !== null && status >= 300 && status < 400) return redirected(status, headers, source);
  const said = readErrorBody(body);
  const { labels, details } = said;
  const message = source.hide(said.message).slice(0, messageMax);
  const known = status ?? said.status ?? labels.map((label) => statusOfLabel[label]).find(Boolean) ?? null;
  const facts: Facts = { status: status ?? said.status, labels, message: said.message, details };
  const errorClass = rules.find((rule) => matches(rule, facts))?.errorClass ?? classOfRest(facts);
  const code =
    errorClass === 'model_not_loaded' && isLoading(facts) ? modelLoadingCode : codeOf(said, source);
  const retryAfter = isWait(errorClass)
    ? retryAfterSeconds({ headers, details, message: said.message }, now)
    : null;
  return {
    class: errorClass,
    message: sentence(errorClass, message, known, { ...said, code }, source),
    ...(known === null ? {} : { status: known }),
    ...(code === null ? {} : { code }),
    ...(retryAfter === null ? {} : { retry_after_seconds: retryAfter }),
  };
}

function matches(rule: Rule, facts: Facts): boolean {
  const { status, labels, message } = facts;
  if (labels.some((label) => rule.labels?.test(label))) return true;
  if (status !== null && rule.statuses?.includes(status)) return true;
  if (rule.also?.(facts)) return true;
  return rule.message?.test(message) === true && (rule.messageStatuses?.(status) ?? true);
}

/** llama.cpp during startup. It passes, so the job waits. */
function isLoading({ status, message }: Facts): boolean {
  return status === 503 && /loading model|model is (being |still )?load(ed|ing)/i.test(message);
}

function codeOf({ code }: ErrorBody, { hide }: ErrorSource): string | null {
  return code !== null && hide(code) === code ? code : null;
}

/** 409 is a lock that was not acquired in time (OpenAI). Other 4xx mean a wrong address. */
function classOfRest({ status }: Facts): ErrorClass {
  return status === null || status >= 500 || status === 409 ? 'server_error' : 'unknown';
}

/** The classes for which waiting helps. */
function isWait(errorClass: ErrorClass): boolean {
  return ['rate_limited', 'overloaded', 'quota_exhausted', 'model_not_loaded', 'server_error'].includes(
    errorClass,
  );
}

function sentence(
  errorClass: ErrorClass,
  message: string,
  status: number | null,
  { code }: ErrorBody,
  { name, overflowHelp }: ErrorSource,
): string {
  const said =
    message === '' ? `${name} answered ${status === null ? 'with an error' : `status ${status}`}` : message;
  switch (errorClass) {
    // Its own sentence may show a part of the key.
    case 'auth':
      return `401 Unauthorized: Authentication failed: ${name} refuses the key of this worker${code === null ? '' : ` (${code})`}`;
    case 'rate_limited':
      return `429 Too Many Requests: Rate limit exceeded: ${said}`;
    case 'model_not_found':
      return `Model not found: ${said}`;
    case 'model_not_loaded':
      return `No model loaded: ${said}`;
    case 'context_overflow':
      return overflowHelp === undefined
        ? `Context overflow: ${said}`
        : `Context overflow: ${said}; ${overflowHelp}`;
    default: {
      const help = errorClass !== 'unknown' ? '' : `; is that the address of a ${name} server?`;
      return message === '' ? `${said}${help}` : `${name} says: ${said}${help}`;
    }
  }
}

function redirected(status: number, { location }: IncomingHttpHeaders, { name }: ErrorSource): WireFailure {
  const target = location !== undefined && URL.canParse(location) ? new URL(location) : null;
  // `file:` and the like have no origin: it is the text "null".
  const to = target === null || target.origin === 'null' ? '' : ` to ${target.origin}`;
  return {
    class: 'unknown',
    code: 'redirect_refused',
    status,
    message: `${name} answered with a redirect${to}, which is not followed, to protect the key. Set base_url to the final address`,
  };
}
