import type { Message } from '../../domain/job.ts';
import type { DispatchBody } from '../../domain/wire/job.ts';
import { isFields } from '../../lib/fields.ts';

/** Of text, in most languages and models: what is assumed for models whose tokenizer is not known. */
export const bytesPerToken = 4;
/** Bytes of text that are counted exactly; beyond that the rest is taken to be like it. */
const countedBytesMax = 16 * 1024 ** 2;
/** What OpenAI adds to each message, and once for the answer. */
const perMessage = 3;
const perRequest = 3;
/** Output of a line that does not bound it. */
export const outputTokensDefault = 1_024;
/** Names by which providers know the bound of the output. */
const outputBounds = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'num_predict'];

/** Counts the tokens of a text. */
type CountTokens = (text: string) => number;

/** The encodings of OpenAI's models by the beginning of their names. */
const encodings: readonly (readonly [models: RegExp, load: () => Promise<CountTokens>])[] = [
  [
    /^(?:openai\/)?(?:gpt-4o|gpt-4\.|gpt-5|gpt-oss|chatgpt-4o|o\d)/,
    async () => (await import('gpt-tokenizer/encoding/o200k_base')).countTokens,
  ],
  [
    /^(?:openai\/)?(?:gpt-4|gpt-3\.5)/,
    async () => (await import('gpt-tokenizer/encoding/cl100k_base')).countTokens,
  ],
];

/** The tokenizer of a model; null when it is not known. It is loaded only here: it has megabytes. */
async function tokenizerOf(model: string | null): Promise<CountTokens | null> {
  const found = encodings.find(([models]) => models.test(model ?? ''));
  return found === undefined ? null : found[1]();
}

/** Counts the input tokens of many jobs for one model. */
export class TokenCounter {
  readonly #count: CountTokens | null;
  #bytes = 0;
  #countedBytes = 0;
  #countedTokens = 0;
  /** Tokens around the texts. */
  #around = 0;

  private constructor(count: CountTokens | null) {
    this.#count = count;
  }

  static async of(model: string | null): Promise<TokenCounter> {
    return new TokenCounter(await tokenizerOf(model));
  }

  /** Whether it has the tokenizer of the model. */
  get isExact(): boolean {
    return this.#count !== null;
  }

  /** Whether some texts were not counted one by one. */
  get isProjected(): boolean {
    return this.isExact && this.#bytes > this.#countedBytes;
  }

  add(body: DispatchBody): void {
    const texts = textsOf(body);
    if (this.isExact) this.#around += perRequest + perMessage * (body.messages?.length ?? 1);
    for (const text of texts) {
      const bytes = Buffer.byteLength(text);
      this.#bytes += bytes;
      if (this.#count === null || this.#countedBytes >= countedBytesMax) continue;
      this.#countedBytes += bytes;
      this.#countedTokens += this.#count(text);
    }
  }

  get tokens(): number {
    const ratio = this.#countedBytes === 0 ? 1 / bytesPerToken : this.#countedTokens / this.#countedBytes;
    return Math.ceil(this.#bytes * ratio) + this.#around;
  }
}

/** How many tokens an answer may have: what the line bounds it to, or the default. */
export function outputTokensOf(params: Readonly<Record<string, unknown>>): {
  tokens: number;
  isBounded: boolean;
} {
  for (const name of outputBounds) {
    const bound = params[name];
    if (typeof bound === 'number' && bound > 0) return { tokens: Math.ceil(bound), isBounded: true };
  }
  return { tokens: outputTokensDefault, isBounded: false };
}

function textsOf({ prompt, input, messages }: DispatchBody): string[] {
  return [prompt ?? '', input ?? '', ...(messages ?? []).flatMap(textsOfMessage)].filter(
    (text) => text !== '',
  );
}

/** Pictures and the like have tokens too; nobody can count them here. */
function textsOfMessage({ content }: Message): string[] {
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) return [];
  return content.flatMap((part) => (isFields(part) && typeof part.text === 'string' ? [part.text] : []));
}
