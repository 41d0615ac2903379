import { FileFault } from '../../bulk/fault.ts';
import { checkJobFile, type JobFile } from '../../bulk/jobFile.ts';
import { ApiError, type Client, Unreachable } from '../../client/client.ts';
import type { DispatchBody } from '../../domain/wire/job.ts';
import type { WireProvider } from '../../domain/wire/provider.ts';
import { humanDuration } from '../../lib/humanTime.ts';
import { interruptSignal } from '../../lib/interrupt.ts';
import { plainLine, safeJson } from '../../lib/plainText.ts';
import type { Io } from '../io.ts';
import { dollarText } from '../jobText.ts';
import { factLines } from '../sheet.ts';
import { type FileRunOptions, withJobFile } from './fileRun.ts';
import { type KnownPrices, knownPrices } from './prices.ts';
import { countText } from './runText.ts';
import { bytesPerToken, outputTokensDefault, outputTokensOf, TokenCounter } from './tokens.ts';

/** What a file is expected to take; null where that is unknown. */
interface Estimate {
  lines: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
  seconds: number | null;
}

/** Lines with the same provider and model. */
interface Group {
  provider: string | null;
  model: string | null;
  lines: number;
  output: number;
  counter: TokenCounter;
}

/** `svc run --file … --estimate`: figures to standard output, for people what they assume to standard error. Sends no job. */
export async function estimateFile(
  client: Client,
  options: FileRunOptions,
  isJson: boolean,
  io: Io,
): Promise<void> {
  const { estimate, assumptions } = await withJobFile(options, io, (file) =>
    estimateJobs(client, file, options.defaults),
  );
  io.out.lines(isJson ? [safeJson(estimate)] : factLines(facts(estimate), io.out));
  // A program that reads both streams as one would stumble over it.
  if (!isJson || io.err.isTerminal)
    io.err.lines(assumptions.map((text) => io.err.paint('dim', plainLine(text))));
}

function facts({ lines, input_tokens, output_tokens, cost_usd, seconds }: Estimate): [string, string][] {
  return [
    ['Lines', countText(lines)],
    ['Input tokens', countText(input_tokens)],
    ['Output tokens', countText(output_tokens)],
    ['Cost', cost_usd === null ? 'unknown' : dollarText(cost_usd)],
    ['Time', seconds === null ? 'unknown' : humanDuration(seconds * 1000)],
  ];
}

/** @throws FileFault with all faults of the file. */
async function estimateJobs(
  client: Client,
  file: JobFile,
  defaults: DispatchBody,
): Promise<{ estimate: Estimate; assumptions: string[] }> {
  const signal = interruptSignal();
  // Faults are found before anything is asked.
  await checkJobFile(file, signal);
  const providers = await client.providers().then(
    (list) => list.providers,
    (error: unknown) => {
      if (error instanceof Unreachable || (error instanceof ApiError && error.status < 500)) return null;
      throw error;
    },
  );
  const groups = new Groups(client, providers ?? []);
  let isDefaulted = false;
  for await (const { body } of file.jobs()) {
    signal.throwIfAborted();
    const group = await groups.of({ ...defaults, ...body });
    const params = { ...defaults.params, ...body.params };
    const { tokens, isBounded } = outputTokensOf(params);
    group.lines += 1;
    group.output += tokens;
    group.counter.add({ ...defaults, ...body });
    isDefaulted ||= !isBounded;
  }
  const all = groups.all;
  if (all.length === 0) throw new FileFault(`${file.source.name} contains no jobs`);
  const prices = await knownPrices(client);
  const estimate: Estimate = {
    lines: sum(all, ({ lines }) => lines) ?? 0,
    input_tokens: sum(all, ({ counter }) => counter.tokens) ?? 0,
    output_tokens: sum(all, ({ output }) => output) ?? 0,
    cost_usd: sum(all, (group) => costOf(group, prices)),
    seconds: sum(all, (group) => secondsOf(group, providers ?? [])),
  };
  return {
    estimate,
    assumptions: assumptionsOf(all, prices, { isDefaulted, isReached: providers !== null }),
  };
}

/** The groups of a file by what its lines ask for. */
class Groups {
  readonly #client: Client;
  readonly #providers: readonly WireProvider[];
  readonly #byRequest = new Map<string, Group>();

  constructor(client: Client, providers: readonly WireProvider[]) {
    this.#client = client;
    this.#providers = providers;
  }

  get all(): Group[] {
    return [...this.#byRequest.values()];
  }

  async of({ provider, model, tags, tier, priority }: DispatchBody): Promise<Group> {
    const key = JSON.stringify([provider, model, tags, tier, priority]);
    const known = this.#byRequest.get(key);
    if (known !== undefined) return known;
    const place = await this.#placeOf({ provider, model, tags, tier, priority } as DispatchBody);
    const group = { ...place, lines: 0, output: 0, counter: await TokenCounter.of(place.model) };
    this.#byRequest.set(key, group);
    return group;
  }

  /** Where such a job would run: what it asks for, else what the routing chooses now. */
  async #placeOf(body: DispatchBody): Promise<Pick<Group, 'provider' | 'model'>> {
    const asked = body.provider === undefined || body.provider === 'auto' ? null : body.provider;
    const chosen = asked === null ? await this.#routed(body) : { provider: asked, model: body.model ?? null };
    const { provider } = chosen;
    const configured = this.#providers.find(({ name }) => name === provider)?.model ?? null;
    return { provider, model: chosen.model ?? body.model ?? configured };
  }

  async #routed(body: DispatchBody): Promise<Pick<Group, 'provider' | 'model'>> {
    const none = { provider: null, model: null };
    const explained = await this.#client.explainRoute({ ...body, prompt: 'estimate' }).catch(() => null);
    return explained?.chosen ?? none;
  }
}

/** By the mean of the lines: prices may rise with the length of a prompt. */
function costOf({ provider, model, lines, output, counter }: Group, { pricing }: KnownPrices): number | null {
  if (provider === null) return null;
  const inputTokens = counter.tokens / lines;
  const outputTokens = output / lines;
  const totalTokens = inputTokens + outputTokens;
  const usage = { inputTokens, outputTokens, cachedInputTokens: 0, reasoningTokens: 0, totalTokens };
  const { nanoDollars } = pricing.costOf({ provider, model, usage, at: Date.now() });
  return nanoDollars === null ? null : (nanoDollars * lines) / 1e9;
}

/** By the slots that serve the provider now, and how long its last jobs took. */
function secondsOf({ provider, lines }: Group, providers: readonly WireProvider[]): number | null {
  const found = providers.find(({ name }) => name === provider);
  if (found === undefined || found.latency_ms === null) return null;
  const slots = Math.min(found.slots, found.max_concurrent ?? Number.POSITIVE_INFINITY);
  return slots === 0 ? null : (Math.ceil(lines / slots) * found.latency_ms) / 1000;
}

/** null when one of them is unknown. */
function sum(groups: readonly Group[], of: (group: Group) => number | null): number | null {
  let all = 0;
  for (const group of groups) {
    const one = of(group);
    if (one === null) return null;
    all += one;
  }
  return all;
}

function assumptionsOf(
  groups: readonly Group[],
  { remark }: KnownPrices,
  { isDefaulted, isReached }: { isDefaulted: boolean; isReached: boolean },
): string[] {
  const counted = groups.filter(({ counter }) => counter.isExact);
  const guessed = groups.filter(({ counter }) => !counter.isExact);
  return [
    ...(counted.length > 0
      ? [`Input tokens of ${namesOf(counted)} were counted with the tokenizer of the model.`]
      : []),
    ...(counted.some(({ counter }) => counter.isProjected)
      ? ['Of a long file only the first 16 MiB were counted; the rest is taken to be like them.']
      : []),
    ...(guessed.length > 0
      ? [`Input tokens of ${namesOf(guessed)}: one for every ${bytesPerToken} bytes of text.`]
      : []),
    isDefaulted
      ? `Output tokens: max_tokens of a line where it is set, else ${countText(outputTokensDefault)}; most answers are shorter. --sample 20 shows what they really take.`
      : 'Output tokens: max_tokens of each line; most answers are shorter.',
    ...(remark === null ? [] : [remark]),
    'Cost: prices of now, without caching and repeated attempts.',
    isReached
      ? 'Time: the slots of the workers that are connected now, and how long the last jobs of the provider took; unknown before the first.'
      : 'Time: unknown, because the coordinator does not answer this key.',
  ];
}

function namesOf(groups: readonly Group[]): string {
  return [...new Set(groups.map(({ provider, model }) => model ?? provider ?? 'an unknown model'))].join(
    ', ',
  );
}
