import { type Fields, isFields } from '../../../lib/fields.ts';

/** The body of a provider's error, whatever its shape. */
export interface ErrorBody {
  /** Whether the body has the shape of an error; else the address may be another server's. */
  isError: boolean;
  message: string;
  /** The provider's own labels for it (`code`, `type`, Google's `status` and reasons), lower case. */
  labels: readonly string[];
  /** The label to pass on; null when there is none. */
  code: string | null;
  /** A status inside the body: of an error inside a 200. */
  status: number | null;
  /** `details` of Google's APIs. */
  details: readonly unknown[];
}

/**
 * Read the error out of a body. The shapes, as seen in November 2026:
 * - OpenAI, newer vLLM, llama.cpp, Mistral, Groq: `{"error": {"message", "type", "param", "code"}}`
 * - Anthropic: `{"type": "error", "error": {"type", "message"}, "request_id"}`
 * - Gemini: `{"error": {"code", "message", "status", "details": […]}}`, sometimes in a list
 * - Ollama, LM Studio: `{"error": "…"}`; older vLLM: `{"object": "error", "message", "type", "code"}`
 * - OpenRouter: `{"error": {"code": 429, "message", "metadata": {"raw"}}}`
 * - OpenAI responses, in the stream: `{"type": "response.failed", "response": {"error": {"code", "message"}}}` and
 *   `{"type": "error", "code", "message"}`
 * - FastAPI: `{"detail": "…"}` or `{"detail": [{"msg"}]}`
 * A body that is not JSON is ignored: a page or plain text of some proxy, which may quote the request.
 */
export function readErrorBody(body: unknown): ErrorBody {
  const parsed = typeof body === 'string' ? parse(body) : body;
  const whole: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  if (!isFields(whole)) return nothing;
  const response = isFields(whole.response) ? whole.response : null;
  const inner = response?.error ?? whole.error ?? whole.detail ?? null;
  if (typeof inner === 'string') return { ...nothing, isError: true, message: inner };
  if (Array.isArray(inner)) return { ...nothing, isError: true, message: listMessage(inner) };
  return readFields(isFields(inner) ? inner : whole);
}

const nothing: ErrorBody = { isError: false, message: '', labels: [], code: null, status: null, details: [] };

function readFields(error: Fields): ErrorBody {
  const { code, type, status, details, metadata } = error;
  const list: unknown[] = Array.isArray(details) ? details : [];
  const reasons = list.flatMap((detail) => (isFields(detail) ? [detail.reason] : []));
  const labels = [...reasons, code, type, status].filter((label) => typeof label === 'string');
  const raw = isFields(metadata) && typeof metadata.raw === 'string' ? ` (${metadata.raw})` : '';
  const message = typeof error.message === 'string' ? error.message + raw : '';
  const numbers = [code, status].map(Number).filter((number) => number >= 400 && number <= 599);
  return {
    isError: message !== '' || [code, type].some((label) => typeof label === 'string'),
    message,
    labels: labels.map((label) => label.toLowerCase()),
    code: labels.find((label) => /^[A-Za-z][\w.-]{0,63}$/.test(label) && label !== 'error') ?? null,
    status: numbers[0] ?? null,
    details: list,
  };
}

function listMessage(list: readonly unknown[]): string {
  return list
    .flatMap((item) => (isFields(item) && typeof item.msg === 'string' ? [item.msg] : []))
    .join('; ');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
