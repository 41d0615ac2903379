import test from 'ava';
import type { ErrorClass } from '../../../src/domain/failure.ts';
import {
  classify,
  type ErrorResponse,
  type ErrorSource,
} from '../../../src/worker/providers/errors/classify.ts';
import { hideAll, hideKeys } from '../../../src/worker/providers/errors/hide.ts';
import { retryAfterSeconds } from '../../../src/worker/providers/errors/retryAfter.ts';
import { job } from '../support/setup.ts';

const now = Date.parse('2026-11-21T09:00:00Z');
const source: ErrorSource = { name: 'p', hide: (text) => text };

function classified(
  status: number | null,
  body: unknown,
  headers: ErrorResponse['headers'] = {},
  by = source,
) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return classify({ status, headers, body: text }, by, now);
}

/** Bodies as the providers' pages and their users quote them; the sources stand in classify.ts and errorBody.ts. */
const refusals: [who: string, status: number | null, body: unknown, expected: ErrorClass][] = [
  [
    'openai',
    401,
    {
      error: {
        message: 'Incorrect API key provided',
        type: 'invalid_request_error',
        code: 'invalid_api_key',
      },
    },
    'auth',
  ],
  [
    'openai',
    403,
    {
      error: {
        message: 'Country, region, or territory not supported',
        type: 'request_forbidden',
        code: 'unsupported_country_region_territory',
      },
    },
    'auth',
  ],
  [
    'openai',
    429,
    {
      error: {
        message: 'You exceeded your current quota, please check your plan and billing details.',
        type: 'insufficient_quota',
        code: 'insufficient_quota',
      },
    },
    'quota_exhausted',
  ],
  [
    'openai',
    429,
    { error: { message: 'Rate limit reached for gpt-4o', type: 'tokens', code: 'rate_limit_exceeded' } },
    'rate_limited',
  ],
  [
    'openai',
    429,
    {
      error: {
        message: 'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 35000.',
        type: 'tokens',
        code: 'rate_limit_exceeded',
      },
    },
    'context_overflow',
  ],
  [
    'openai',
    404,
    {
      error: {
        message: 'The model `gpt-9` does not exist or you do not have access to it.',
        type: 'invalid_request_error',
        code: 'model_not_found',
      },
    },
    'model_not_found',
  ],
  [
    'openai',
    400,
    {
      error: {
        message: "This model's maximum context length is 128000 tokens.",
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    },
    'context_overflow',
  ],
  [
    'openai',
    400,
    {
      error: {
        message: "Unsupported value: 'temperature' does not support 0.2 with this model.",
        type: 'invalid_request_error',
        code: 'unsupported_value',
      },
    },
    'invalid_request',
  ],
  ['openai', 500, { error: { message: 'The server had an error', type: 'server_error' } }, 'server_error'],
  [
    'openai',
    503,
    { error: { message: 'The engine is currently overloaded', type: 'server_error', code: 'slow_down' } },
    'overloaded',
  ],
  ['openai', 409, { error: { message: 'conflict', type: 'conflict' } }, 'server_error'],
  [
    'anthropic',
    401,
    { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } },
    'auth',
  ],
  [
    'anthropic',
    402,
    { type: 'error', error: { type: 'billing_error', message: 'billing' } },
    'quota_exhausted',
  ],
  [
    'anthropic',
    400,
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'Your credit balance is too low to access the Anthropic API.',
      },
    },
    'quota_exhausted',
  ],
  [
    'anthropic',
    404,
    { type: 'error', error: { type: 'not_found_error', message: 'model: claude-9' } },
    'model_not_found',
  ],
  [
    'anthropic',
    429,
    { type: 'error', error: { type: 'rate_limit_error', message: 'would exceed your rate limit' } },
    'rate_limited',
  ],
  [
    'anthropic',
    529,
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    'overloaded',
  ],
  [
    'anthropic',
    null,
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    'overloaded',
  ],
  [
    'anthropic',
    400,
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' },
    },
    'context_overflow',
  ],
  [
    'anthropic',
    413,
    { type: 'error', error: { type: 'request_too_large', message: 'Request exceeds the maximum size' } },
    'invalid_request',
  ],
  [
    'anthropic',
    null,
    { type: 'error', error: { type: 'api_error', message: 'Internal server error' } },
    'server_error',
  ],
  [
    'gemini',
    400,
    [
      {
        error: {
          code: 400,
          message: 'API key not valid. Please pass a valid API key.',
          status: 'INVALID_ARGUMENT',
          details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
        },
      },
    ],
    'auth',
  ],
  [
    'gemini',
    429,
    {
      error: {
        code: 429,
        message: 'You exceeded your current quota, please check your plan and billing details.',
        status: 'RESOURCE_EXHAUSTED',
        details: [{ violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }] }],
      },
    },
    'quota_exhausted',
  ],
  [
    'gemini',
    429,
    {
      error: {
        code: 429,
        message: 'You exceeded your current quota, please check your plan and billing details.',
        status: 'RESOURCE_EXHAUSTED',
        details: [{ violations: [{ quotaId: 'GenerateRequestsPerMinutePerProjectPerModel' }] }],
      },
    },
    'rate_limited',
  ],
  [
    'gemini',
    404,
    {
      error: {
        code: 404,
        message: 'models/gemini-9 is not found for API version v1beta',
        status: 'NOT_FOUND',
      },
    },
    'model_not_found',
  ],
  [
    'gemini',
    503,
    { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } },
    'overloaded',
  ],
  [
    'gemini',
    400,
    {
      error: {
        code: 400,
        message: 'The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).',
        status: 'INVALID_ARGUMENT',
      },
    },
    'context_overflow',
  ],
  ['gemini', 504, { error: { code: 504, message: 'Deadline', status: 'DEADLINE_EXCEEDED' } }, 'timeout'],
  ['ollama', 404, { error: 'model "x" not found, try pulling it first' }, 'model_not_found'],
  [
    'ollama',
    503,
    { error: 'server busy, please try again.  maximum pending requests exceeded' },
    'overloaded',
  ],
  [
    'ollama',
    500,
    { error: 'model requires more system memory (8.4 GiB) than is available (5.1 GiB)' },
    'model_not_loaded',
  ],
  [
    'lm studio',
    404,
    {
      error: {
        message: "No models loaded. Please load a model in the developer page or use the 'lms load' command.",
        type: 'model_not_found',
      },
    },
    'model_not_loaded',
  ],
  ['lm studio', 400, { error: 'Model is unloaded.' }, 'model_not_loaded'],
  ['lm studio', null, { error: 'Channel Error' }, 'overloaded'],
  ['lm studio', null, { error: 'Unexpected endpoint or method. (POST /x)' }, 'unknown'],
  [
    'llama.cpp',
    503,
    { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } },
    'model_not_loaded',
  ],
  [
    'llama.cpp',
    400,
    {
      error: {
        code: 400,
        message: 'the request exceeds the available context size',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 9,
        n_ctx: 8,
      },
    },
    'context_overflow',
  ],
  ['llama.cpp', 404, { error: { code: 404, message: 'File Not Found', type: 'not_found_error' } }, 'unknown'],
  [
    'vllm, older',
    404,
    {
      object: 'error',
      message: 'The model `x` does not exist.',
      type: 'NotFoundError',
      param: null,
      code: 404,
    },
    'model_not_found',
  ],
  [
    'vllm',
    400,
    {
      error: {
        message: 'The decoder prompt (length 5000) is longer than the maximum model length of 4096.',
        type: 'BadRequestError',
        code: 400,
      },
    },
    'context_overflow',
  ],
  ['vllm', 401, { error: 'Unauthorized' }, 'auth'],
  ['openrouter', 402, { error: { code: 402, message: 'Insufficient credits' } }, 'quota_exhausted'],
  [
    'openrouter',
    null,
    {
      error: {
        code: 429,
        message: 'Provider returned error',
        metadata: { raw: 'x is temporarily rate-limited upstream' },
      },
    },
    'rate_limited',
  ],
  ['openrouter', 400, { error: { code: 400, message: 'x/y is not a valid model ID' } }, 'model_not_found'],
  [
    'openrouter',
    403,
    { error: { code: 403, message: 'Your input was flagged', metadata: { reasons: ['violence'] } } },
    'content_filtered',
  ],
  [
    'azure',
    400,
    {
      error: {
        message:
          "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        code: 'content_filter',
      },
    },
    'content_filtered',
  ],
  ['a proxy', 502, '<html>Bad Gateway</html>', 'network'],
  ['a proxy', 404, '<html>nothing here</html>', 'unknown'],
  ['fastapi', 422, { detail: [{ msg: 'field required' }] }, 'invalid_request'],
];

for (const [who, status, body, expected] of refusals) {
  test(`${who}, ${status ?? 'in a 200'}: ${JSON.stringify(body).slice(0, 150)} is ${expected}`, (t) => {
    const failure = classified(status, body);
    t.is(failure.class, expected, failure.message);
    if (status !== null) t.is(failure.status, status);
  });
}

test('the words that users look for stand in front', (t) => {
  t.regex(classified(401, { error: { message: 'no' } }).message, /^401 Unauthorized: Authentication failed/);
  t.regex(
    classified(429, { error: { message: 'no' } }).message,
    /^429 Too Many Requests: Rate limit exceeded/,
  );
  t.regex(classified(404, { error: { message: 'model x not found' } }).message, /^Model not found: /);
  t.regex(classified(503, { error: { message: 'Loading model' } }).message, /^No model loaded: /);
});

test('an error inside a 200 has the status that its word has elsewhere, and never 200', (t) => {
  t.is(classified(null, { error: { type: 'overloaded_error', message: 'x' } }).status, 529);
  t.is(classified(null, { error: { code: 429, message: 'x' } }).status, 429);
  t.is(classified(null, { error: { message: 'x' } }).status, undefined);
});

test('a key is in no message and no code, also when only half of it is repeated', (t) => {
  const key = 'sk-proj-0123456789abcdef';
  const by = { ...source, hide: hideKeys([key]) };
  for (const body of [
    { error: { message: `bad key ${key}`, code: key } },
    { error: { message: 'bad key sk-proj-0123****cdef', type: 'x' } },
    { error: `Bearer ${key}` },
  ]) {
    const said = JSON.stringify(classified(400, body, {}, by));
    t.false(said.includes('sk-proj-0123'), said);
  }
});

test('a sentence that quotes the job is left out, another is not', (t) => {
  const hide = hideAll([], job('a', { prompt: 'My doctor says that the results are in and I should call.' }));
  t.is(hide('cannot handle "the results are in and I should call"'), '');
  t.is(hide('the model is overloaded'), 'the model is overloaded');
});

test('a redirect is told with the host that it goes to, and nothing of the path', (t) => {
  const failure = classified(307, '', { location: 'https://evil.example/steal?key=1' });
  t.like(failure, { class: 'unknown', code: 'redirect_refused', status: 307 });
  t.regex(failure.message, /redirect to https:\/\/evil\.example, which/);
  t.regex(classified(301, '', { location: 'file:///etc/passwd' }).message, /with a redirect, which/);
});

const waits: [
  title: string,
  hints: Partial<Parameters<typeof retryAfterSeconds>[0]>,
  seconds: number | null,
][] = [
  ['seconds', { headers: { 'retry-after': '17' } }, 17],
  ['parts of a second', { headers: { 'retry-after': '1.5' } }, 1.5],
  ['a date', { headers: { 'retry-after': 'Sat, 21 Nov 2026 09:01:40 GMT' } }, 100],
  ['a date that is past', { headers: { 'retry-after': 'Sat, 21 Nov 2026 08:00:00 GMT' } }, 0],
  [
    'a date, by the provider’s own clock',
    { headers: { date: 'Sat, 21 Nov 2026 12:00:00 GMT', 'retry-after': 'Sat, 21 Nov 2026 12:01:40 GMT' } },
    100,
  ],
  ['milliseconds go before seconds', { headers: { 'retry-after-ms': '850', 'retry-after': '1' } }, 0.85],
  ['those of Azure', { headers: { 'x-ms-retry-after-ms': '2500' } }, 2.5],
  [
    'RetryInfo',
    { details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '37s' }] },
    37,
  ],
  ['a duration', { headers: { 'x-ratelimit-reset-requests': '6m0s' } }, 360],
  ['minutes and parts of seconds', { headers: { 'x-ratelimit-reset-tokens': '1m2.5s' } }, 62.5],
  ['milliseconds as a duration', { headers: { 'x-ratelimit-reset-tokens': '120ms' } }, 0.12],
  [
    'the limit that is used up, not the other',
    {
      headers: {
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '6s',
        'x-ratelimit-remaining-requests': '5',
        'x-ratelimit-reset-requests': '9m',
      },
    },
    6,
  ],
  [
    'a time of RFC 3339',
    {
      headers: {
        'anthropic-ratelimit-tokens-remaining': '0',
        'anthropic-ratelimit-tokens-reset': '2026-11-21T09:00:30Z',
      },
    },
    30,
  ],
  ['epoch milliseconds', { headers: { 'x-ratelimit-reset': String(now + 45_000) } }, 45],
  ['the message, when nothing else tells', { message: 'Please try again in 1m12.5s. Visit …' }, 72.5],
  ['milliseconds in the message', { message: 'Please try again in 120ms.' }, 0.12],
  ['what is no time', { headers: { 'retry-after': 'soon' } }, null],
  ['a negative number is now', { headers: { 'retry-after': '-5' } }, 0],
  ['nothing', {}, null],
];

for (const [title, hints, seconds] of waits) {
  test(`how long to wait: ${title}`, (t) => {
    t.is(retryAfterSeconds({ headers: {}, details: [], message: '', ...hints }, now), seconds);
  });
}
