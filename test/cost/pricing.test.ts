import test from 'ava';
import type { Price } from '../../src/config/config.ts';
import { createPricing, type Pricing } from '../../src/cost/pricing.ts';
import type { Cost } from '../../src/domain/money.ts';
import { type Usage, usageFromWire, type WireUsage } from '../../src/domain/usage.ts';
import { testConfig } from '../support/config.ts';
import { FakeClock } from '../support/fakeClock.ts';

const now = Date.parse('2026-11-21T09:00:00Z');

function pricingOf(overrides: Parameters<typeof testConfig>[0] = {}): Pricing {
  const config = testConfig(overrides);
  return createPricing(() => config, new FakeClock(now));
}

function price(input: number, output: number, cached: number | null = null): Price {
  return {
    inputPerMillion: input,
    outputPerMillion: output,
    cachedInputPerMillion: cached,
    cacheWritePerMillion: null,
    free: false,
  };
}

const usage = (wire: Partial<WireUsage>): Usage => usageFromWire(wire);
const known = (nanoDollars: number): Cost => ({ nanoDollars, status: 'known' });
const unknown: Cost = { nanoDollars: null, status: 'unknown' };
const some = usage({ input_tokens: 1_000, output_tokens: 100 });

/** Reckoned by hand from the vendors' pages: dollars a million tokens times tokens times 1,000 is nano-dollars. */
const examples: [what: string, provider: string, model: string, usage: Partial<WireUsage>, nano: number][] = [
  // 2.50 in, 10 out
  ['openai, plain', 'openai', 'gpt-4o', { input_tokens: 1_000, output_tokens: 100 }, 2_500_000 + 1_000_000],
  // 1.25 from the cache; the input includes it
  [
    'openai, a part of the input from the cache',
    'openai',
    'gpt-4o',
    { input_tokens: 1_000, cached_input_tokens: 400, output_tokens: 100 },
    600 * 2_500 + 400 * 1_250 + 100 * 10_000,
  ],
  // 2 in, 0.50 cached, 8 out since 2025-06-10; the output includes the reasoning, which has no price of its own
  [
    'openai, reasoning is part of the output',
    'openai',
    'o3',
    { input_tokens: 50, output_tokens: 900, reasoning_tokens: 800 },
    50 * 2_000 + 900 * 8_000,
  ],
  // 3 in, 0.30 cached, 15 out
  [
    'anthropic, cached',
    'anthropic',
    'claude-sonnet-4-5-20250929',
    { input_tokens: 10_000, cached_input_tokens: 9_000, output_tokens: 200 },
    1_000 * 3_000 + 9_000 * 300 + 200 * 15_000,
  ],
  // 3.75 for what is written to the cache of five minutes
  [
    'anthropic, written to the cache',
    'anthropic',
    'claude-sonnet-4-5-20250929',
    { input_tokens: 10_000, cached_input_tokens: 1_000, cache_write_tokens: 8_000, output_tokens: 200 },
    1_000 * 3_000 + 1_000 * 300 + 8_000 * 3_750 + 200 * 15_000,
  ],
  // It has no price for writes: they are input like any other
  [
    'openai, written to the cache for nothing more',
    'openai',
    'gpt-4o',
    { input_tokens: 1_000, cache_write_tokens: 400, output_tokens: 100 },
    1_000 * 2_500 + 100 * 10_000,
  ],
  // above 200,000 tokens of input everything costs more: 6, 0.60, 22.50
  [
    'anthropic, a long prompt',
    'anthropic',
    'claude-sonnet-4-5',
    { input_tokens: 200_001, cached_input_tokens: 1, output_tokens: 10 },
    200_000 * 6_000 + 600 + 10 * 22_500,
  ],
  // 0.30 in, 0.03 cached, 2.50 out
  [
    'google, cached and thoughts',
    'google',
    'gemini-2.5-flash',
    { input_tokens: 1_000, cached_input_tokens: 500, output_tokens: 300, reasoning_tokens: 250 },
    500 * 300 + 500 * 30 + 300 * 2_500,
  ],
  // 1.25 in, 10 out up to 200,000 tokens, then 2.50 and 15
  [
    'google, just below the tier',
    'gemini',
    'gemini-2.5-pro',
    { input_tokens: 200_000, output_tokens: 1 },
    250_000_000 + 10_000,
  ],
  [
    'google, just above the tier',
    'gemini',
    'gemini-2.5-pro',
    { input_tokens: 200_001, output_tokens: 1 },
    200_001 * 2_500 + 15_000,
  ],
  // 2 in, 8 out, and 3 for reasoning; 10 of the 30 tokens of output are none
  [
    'perplexity, reasoning with a price of its own',
    'perplexity',
    'sonar-deep-research',
    { input_tokens: 100, output_tokens: 30, reasoning_tokens: 20 },
    100 * 2_000 + 10 * 8_000 + 20 * 3_000,
  ],
];

for (const [what, provider, model, wire, nanoDollars] of examples) {
  test(`the bundled prices are billed right: ${what}`, (t) => {
    t.deepEqual(pricingOf().costOf({ provider, model, usage: usage(wire), at: now }), known(nanoDollars));
  });
}

test('a price that has changed is the one of the time when the attempt ended', (t) => {
  const { costOf } = pricingOf();
  const o3 = (at: string) => costOf({ provider: 'openai', model: 'o3', usage: some, at: Date.parse(at) });
  t.deepEqual(o3('2025-06-09T23:59:59Z'), known(1_000 * 10_000 + 100 * 40_000));
  t.deepEqual(o3('2025-06-10T00:00:00Z'), known(1_000 * 2_000 + 100 * 8_000));
});

test('a price that depends on the time of day is the one of that time', (t) => {
  const { costOf } = pricingOf();
  const chat = (at: string) =>
    costOf({ provider: 'deepseek', model: 'deepseek-chat', usage: some, at: Date.parse(at) });
  t.deepEqual(chat('2026-11-21T12:00:00Z'), known(1_000 * 270 + 100 * 1_100));
  t.deepEqual(chat('2026-11-21T20:00:00Z'), known(1_000 * 135 + 100 * 550));
});

test('what nobody knows a price for is unknown, and never 0', (t) => {
  const { costOf, comparablePrice } = pricingOf();
  for (const [provider, model] of [
    ['gold', 'g'],
    ['openai', 'a-model-of-next-year'],
    ['openai', null],
    ['openai', 'constructor'],
    ['constructor', '__proto__'],
    // The library has these models without a price for tokens.
    ['groq', 'whisper-large-v3'],
  ] as const) {
    t.deepEqual(costOf({ provider, model, usage: some, at: now }), unknown, `${provider} ${model}`);
    t.is(comparablePrice(provider, model), null);
  }
});

test('usage of which input or output is not known costs an unknown amount where it has a price', (t) => {
  const { costOf } = pricingOf();
  const half = { ...usage({ output_tokens: 100 }), isPartial: true } as const;
  t.deepEqual(costOf({ provider: 'openai', model: 'gpt-4o', usage: half, at: now }), unknown);
  t.deepEqual(costOf({ provider: 'ollama', model: 'llama3.2', usage: half, at: now }), known(0));
});

test('usage that nobody told is unknown where it has a price, and known to be 0 where nothing has', (t) => {
  const { costOf } = pricingOf({ pricing: { gold: { g: price(1, 2) } } });
  const untold = (provider: string, model: string) => costOf({ provider, model, usage: null, at: now });
  t.deepEqual(untold('openai', 'gpt-4o'), unknown);
  t.deepEqual(untold('gold', 'g'), unknown);
  t.deepEqual(untold('nobody', 'x'), unknown);
  t.deepEqual(untold('ollama', 'llama3.2'), known(0));
});

test('usage that contradicts itself is cut to what can be: no more from the cache than came in', (t) => {
  const { costOf } = pricingOf({ pricing: { gold: { g: price(1_000, 2_000, 100) } } });
  const wrong = usage({
    input_tokens: 10,
    cached_input_tokens: 50,
    output_tokens: 5,
    reasoning_tokens: 90,
  });
  t.deepEqual(
    costOf({ provider: 'openai', model: 'gpt-4o', usage: wrong, at: now }),
    known(10 * 1_250 + 5 * 10_000),
  );
  t.deepEqual(
    costOf({ provider: 'gold', model: 'g', usage: wrong, at: now }),
    known(10 * 100_000 + 5 * 2_000_000),
  );
});

test('a configured price goes before every other, and cached input without a price of its own costs as input', (t) => {
  const { costOf, comparablePrice } = pricingOf({
    pricing: {
      echo: { 'gold-1': price(1_000, 2_000) },
      openai: { 'gpt-4o': price(1, 3), 'gpt-5': { ...price(0, 0), free: true } },
    },
  });
  const cached = usage({ input_tokens: 10, cached_input_tokens: 4, output_tokens: 5 });
  t.deepEqual(costOf({ provider: 'echo', model: 'gold-1', usage: cached, at: now }), known(20_000_000));
  t.deepEqual(costOf({ provider: 'echo', model: 'other', usage: cached, at: now }), known(0));
  t.deepEqual(
    costOf({ provider: 'openai', model: 'gpt-4o', usage: some, at: now }),
    known(1_000_000 + 300_000),
  );
  t.deepEqual(costOf({ provider: 'openai', model: 'gpt-5', usage: null, at: now }), known(0));
  t.is(comparablePrice('openai', 'gpt-4o'), 4);
  t.is(comparablePrice('openai', 'gpt-5'), 0);
});

test('input that is written to a cache has the configured price of that, or costs as input', (t) => {
  const { costOf } = pricingOf({
    pricing: {
      anthropic: { opus: { ...price(5, 25, 0.5), cacheWritePerMillion: 6.25 }, haiku: price(1, 5) },
    },
  });
  const wire = {
    input_tokens: 10_050,
    cached_input_tokens: 2_000,
    cache_write_tokens: 8_000,
    output_tokens: 400,
  };
  const cost = (model: string, more: Partial<WireUsage> = {}) =>
    costOf({ provider: 'anthropic', model, usage: usage({ ...wire, ...more }), at: now });
  t.deepEqual(cost('opus'), known(50 * 5_000 + 2_000 * 500 + 8_000 * 6_250 + 400 * 25_000));
  t.deepEqual(cost('haiku'), known(10_050 * 1_000 + 400 * 5_000));
  t.deepEqual(
    cost('opus', { cache_write_tokens: 90_000 }),
    known(2_000 * 500 + 8_050 * 6_250 + 400 * 25_000),
    'no more was written than came in',
  );
});

test('the name that the provider reports is tried first, then the one that was asked for', (t) => {
  const { costOf } = pricingOf({ pricing: { openai: { 'gpt-4o': price(1, 1) } } });
  const cost = (model: string | null, reportedModel: string | null) =>
    costOf({ provider: 'openai', model, reportedModel, usage: some, at: now });
  t.deepEqual(cost('gpt-4o', 'gpt-4o-2024-08-06'), known(1_100_000), 'the override for the name asked for');
  t.deepEqual(cost(null, 'gpt-4o-mini-2024-07-18'), known(1_000 * 150 + 100 * 600));
  t.deepEqual(cost('gpt-4o-mini', 'served-by-us'), known(1_000 * 150 + 100 * 600));
});

test('providers on one’s own machines are free, whatever they are called', (t) => {
  const base = testConfig();
  const provider = (baseUrl: string) => ({
    rateLimit: null,
    model: null,
    baseUrl,
    apiKeyEnv: null,
    breaker: { ratio: 0.5, minimum: 10, windowSeconds: 60, openSeconds: 30 },
  });
  const costAt = (baseUrl: string): Cost => {
    const config = { ...base, providers: { box: provider(baseUrl) } };
    return createPricing(() => config, new FakeClock(now)).costOf({
      provider: 'box',
      model: 'm',
      usage: some,
      at: now,
    });
  };
  for (const url of [
    'http://localhost:1234/v1',
    'http://127.0.0.1:8080',
    'http://10.1.2.3',
    'http://172.16.0.9/v1',
    'http://172.31.255.1',
    'https://192.168.1.20:11434',
    'http://[::1]:8000',
    'http://[fd12:3456::1]/v1',
    'http://host.docker.internal:11434',
    'http://gpu-box:8000/v1',
    'http://GPU-Box.local:11434',
    'http://vllm.models.svc.cluster.local/v1',
    'http://nas.home.arpa',
  ])
    t.deepEqual(costAt(url), known(0), url);
  for (const url of [
    'https://api.example.com',
    'http://172.32.0.1',
    'http://11.0.0.1',
    'http://8.8.8.8',
    'http://10.example.com',
    'http://[2001:db8::1]/',
    'https://localhost.example.com',
    'https://internal.example.com',
    'https://gpu-box.notlocal',
  ])
    t.deepEqual(costAt(url), unknown, url);
});

test('a base_url says who sells; a name that only sounds like a seller is not believed then', (t) => {
  const provider = (baseUrl: string | null) => ({
    rateLimit: null,
    model: null,
    baseUrl,
    apiKeyEnv: null,
    breaker: { ratio: 0.5, minimum: 10, windowSeconds: 60, openSeconds: 30 },
  });
  const { costOf } = pricingOf({
    providers: {
      'openai-compatible': provider('https://llm.example.com/v1'),
      fast: provider('https://api.openai.com/v1'),
      openai: provider('https://gateway.example.com/openai'),
      'openai-eu': provider(null),
    },
  });
  const cost = (name: string) => costOf({ provider: name, model: 'gpt-4o', usage: some, at: now });
  t.deepEqual(cost('openai-compatible'), unknown);
  for (const name of ['fast', 'openai', 'openai-eu']) t.deepEqual(cost(name), known(3_500_000), name);
});

test('another configuration brings its own prices', (t) => {
  let config = testConfig();
  const { costOf } = createPricing(() => config, new FakeClock(now));
  const cost = () => costOf({ provider: 'gold', model: 'g', usage: some, at: now });
  t.deepEqual(cost(), unknown);
  config = testConfig({ pricing: { gold: { g: price(1, 1) } } });
  t.deepEqual(cost(), known(1_100_000));
});

test('prices to compare by are dollars a million tokens in and out', (t) => {
  const { comparablePrice } = pricingOf({ pricing: { gold: { g: price(7, 8) } } });
  t.is(comparablePrice('gold', 'g'), 15);
  t.is(comparablePrice('openai', 'gpt-4o'), 12.5);
  t.is(comparablePrice('anthropic', 'claude-sonnet-4-5'), 18);
  t.is(comparablePrice('ollama', 'anything'), 0);
  t.is(comparablePrice('ollama', null), 0);
  t.is(comparablePrice('openai', null), null);
});

test('amounts are whole nano-dollars, rounded once', (t) => {
  const { costOf } = pricingOf({ pricing: { gold: { g: price(0.0001, 0.0003) } } });
  const cost = (input: number, output: number) =>
    costOf({
      provider: 'gold',
      model: 'g',
      usage: usage({ input_tokens: input, output_tokens: output }),
      at: now,
    });
  t.deepEqual(cost(4, 1), known(1));
  t.deepEqual(cost(1, 0), known(0));
  t.deepEqual(cost(1_000_000, 1_000_000), known(400_000));
});

test('what the provider says it charged goes before the price list, unless nobody would charge so much', (t) => {
  const told = (cost_usd: number, tokens = 1_000): Cost =>
    pricingOf().costOf({
      provider: 'openrouter',
      model: 'openai/gpt-4o',
      usage: usage({ input_tokens: tokens, output_tokens: 100, cost_usd }),
      at: now,
    });
  const listed = told(1e5);
  t.is(listed.status, 'known');
  t.not(listed.nanoDollars, 1e14, 'a hundred thousand dollars for 1,100 tokens');
  t.deepEqual(told(0.00123), known(1_230_000));
  t.deepEqual(told(0), known(0));
  // A dollar for what is billed by the piece, and a thousand a million tokens.
  t.deepEqual(told(2.1), known(2_100_000_000));
  t.deepEqual(told(2.2), listed);
});

test('what the provider says it charged is not asked where the configuration has a price, or nothing is charged', (t) => {
  const spent = { usage: usage({ input_tokens: 1_000, output_tokens: 100, cost_usd: 0.5 }), at: now };
  const own = pricingOf({ pricing: { openrouter: { m: price(1, 2) } } });
  t.deepEqual(own.costOf({ provider: 'openrouter', model: 'm', ...spent }), known(1_200_000));
  t.deepEqual(pricingOf().costOf({ provider: 'ollama', model: 'm', ...spent }), known(0));
});

test('a worker that calls a provider free is believed where nobody knows a price', (t) => {
  const pricing = pricingOf({ pricing: { house: { dear: price(1, 2) } } });
  const costOf = (provider: string, model: string, told: Usage | null): Cost =>
    pricing.costOf({ provider, model, usage: told, at: now, isFree: true });
  t.deepEqual(costOf('house', 'other', some), known(0));
  t.deepEqual(costOf('house', 'other', null), known(0));
  t.deepEqual(costOf('house', 'dear', some), known(1_200_000));
  t.deepEqual(costOf('openai', 'gpt-4o', some), known(3_500_000));
  t.deepEqual(costOf('openai', 'gpt-4o', null), unknown);
});
