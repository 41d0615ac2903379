import test from 'ava';
import { ConfigError, loadConfig } from '../../src/config/load.ts';
import { folderWith, load, problemsOf } from './folder.ts';

test('an unknown key is told with its line and the nearest known key', async (t) => {
  t.deepEqual(await problemsOf(t, 'host: 127.0.0.1\n\njobs:\n  timeout_secnds: 5\n'), [
    'svc.config.yaml:4: jobs.timeout_secnds: unknown key, did you mean timeout_seconds?',
  ]);
});

test('what holds for all providers is their rate_limit and nothing else', async (t) => {
  const lines = await problemsOf(
    t,
    'providers:\n  defaults:\n    model: x\n    rate_limit: { max_retries: 1 }\n',
  );
  t.deepEqual(lines, [
    'svc.config.yaml:3: providers.defaults.model: cannot be set for all providers at once; only rate_limit can',
  ]);
});

test('an unknown key that resembles nothing gets no hint', async (t) => {
  t.deepEqual(await problemsOf(t, 'wibble: 5'), ['svc.config.yaml:1: wibble: unknown key']);
});

test('every problem is told at once, in the order of the file', async (t) => {
  const lines = await problemsOf(
    t,
    `prot: 1
port: 99999
jobs:
  timeout_seconds: 1.5
  heartbeat_interval_seconds: 0
  max_attempts: "3"
providers:
  openai:
    rate_limit:
      max_concurent: 4
    base_url: localhost:80
routing:
  strategy: falback
`,
  );
  t.deepEqual(lines, [
    'svc.config.yaml:1: prot: unknown key, did you mean port?',
    'svc.config.yaml:2: port: must be a whole number from 0 to 65535, not 99999',
    'svc.config.yaml:4: jobs.timeout_seconds: must be a whole number of at least 0, not 1.5',
    'svc.config.yaml:5: jobs.heartbeat_interval_seconds: must be a number above 0 and at most 3600, not 0',
    'svc.config.yaml:6: jobs.max_attempts: must be a whole number of at least 1, not "3"',
    'svc.config.yaml:10: providers.openai.rate_limit.max_concurent: unknown key, did you mean max_concurrent?',
    'svc.config.yaml:11: providers.openai.base_url: must be an address such as http://127.0.0.1:7420, not "localhost:80"',
    'svc.config.yaml:13: routing.strategy: must be one of direct, fallback, round_robin, least_busy, cheapest, fastest, not "falback"; did you mean fallback?',
  ]);
});

test('keys that contradict each other are told beside wrong types elsewhere', async (t) => {
  const lines = await problemsOf(
    t,
    `port: "7420"
pricing:
  echo:
    echo-small: { input_per_million: 1 }
routing:
  rules:
    - chain: [echo]
      provider: echo
`,
  );
  t.deepEqual(lines, [
    'svc.config.yaml:1: port: must be a whole number from 0 to 65535, not "7420"',
    'svc.config.yaml:4: pricing.echo.echo-small: needs output_per_million too',
    'svc.config.yaml:7: routing.rules[0]: sets both chain and provider; keep one of them',
  ]);
});

test('problems keep their lines behind names with dots, in lists and through aliases', async (t) => {
  const lines = await problemsOf(
    t,
    `pricing:
  openai:
    gpt-4.1:
      input_per_million: 1
      output_per_million: -2
base: &base
  max_retries: -1
routing:
  rules:
    - provider: echo
    - match:
        tier: gold
        teir: gold
      provider: echo
`,
  );
  t.deepEqual(lines, [
    'svc.config.yaml:5: pricing.openai["gpt-4.1"].output_per_million: must be a number of at least 0, not -2',
    'svc.config.yaml:6: base: unknown key',
    'svc.config.yaml:13: routing.rules[1].match.teir: unknown key, did you mean tier?',
  ]);
});

const wrong: [title: string, yaml: string, line: RegExp][] = [
  ['a rule that sets nothing', 'routing: { rules: [{ match: { tags: [a] } }] }', /rules\[0\]: sets nothing/],
  [
    'a rule with both chain and provider',
    'routing: { rules: [{ chain: [echo], provider: echo }] }',
    /both chain and prov/,
  ],
  [
    'a rule with an empty condition',
    'routing:\n  rules:\n    - match: { tier: }\n      provider: echo',
    /tier: has no value/,
  ],
  ['a rule with an empty chain', 'routing: { rules: [{ chain: [] }] }', /at least one provider/],
  ['an empty rule', 'routing:\n  rules:\n    -\n', /rules\[0\]: has no keys/],
  [
    'a negative price',
    'pricing: { a: { b: { input_per_million: -1, output_per_million: 1 } } }',
    /at least 0, not -1/,
  ],
  ['half a price', 'pricing: { a: { b: { input_per_million: 1 } } }', /needs output_per_million too/],
  ['no price', 'pricing: { a: { b: {} } }', /needs input_per_million and output_per_million, or free: true/],
  ['a free price', 'pricing: { a: { b: { free: true, input_per_million: 1 } } }', /is free and has prices/],
  [
    'two models for one',
    'ollama: { model: a }\nproviders: { ollama: { model: b } }',
    /:1: ollama\.model: says a, but/,
  ],
  [
    'a provider at the top',
    'openai: { model: a }',
    /the model of a provider belongs in providers\.openai\.model/,
  ],
  ['other keys at the top', 'ollama: { base_url: "http://x" }', /ollama\.base_url: unknown key/],
  ['a chain that repeats', 'routing: { chain: [a, a] }', /must not name anything twice/],
  ['a list for a map', 'jobs: [1]', /jobs: must be a map of keys, not a list/],
  ['a text for a map of names', 'providers: openai', /providers: must be a map, not "openai"/],
  ['a text for a list', 'routing: { chain: echo }', /must be a list of names, not "echo"/],
  ['infinity', 'shutdown: { grace_seconds: .inf }', /must be a number of at least 0/],
  ['another store', 'store: { kind: postgres }', /must be one of json/],
  ['a short worker key', 'worker: { api_key: short-secret }', /must be a text of 16 characters or more$/],
  ['a list as the file', '- a\n- b', /:1: must be a map of keys/],
  ['a key twice', 'host: a\nhost: b', /:2: not valid YAML: Map keys must be unique/],
  ['broken YAML', 'jobs:\n  a: [1\nhost: x', /not valid YAML/],
  [
    'a tag that nobody knows',
    'worker:\n  api_key: !secret key',
    /:2: not valid YAML: Unresolved tag: !secret/,
  ],
  ['a map for a key', 'providers:\n  ? { a: b }\n  : { model: x }', /:2: not valid: a key must be a word/],
  ['a rate that is negative', 'http: { rate_limit_per_key: -1 }', /must be a number of at least 0, not -1/],
  ['a merge key', 'providers: { a: &a { model: x }, b: { <<: *a } }', /providers\.b\.<<: unknown key/],
  ['two documents', 'host: a\n---\nhost: b', /:2: not valid YAML: Source contains multiple documents/],
  ['an alias to nothing', 'host: *nobody', /not valid YAML/],
  ['a name of nothing', 'providers: { "": { model: x } }', /is not a name for a provider/],
];

for (const [title, yaml, line] of wrong) {
  test(`refused: ${title}`, async (t) => {
    const problems = await problemsOf(t, yaml);
    t.is(problems.length, 1, problems.join('\n'));
    t.regex(problems[0] ?? '', line);
  });
}

const odd: [title: string, yaml: string, warning: RegExp | null][] = [
  [
    'a chain with an unknown provider',
    'routing: { strategy: fallback, chain: [opnai, echo] }\nproviders: { openai: }',
    /did you mean openai/,
  ],
  [
    'a rule with an unknown provider',
    'routing: { rules: [{ match: {}, provider: zeta }] }',
    /rules\[0\]\.provider: names the provider zeta/,
  ],
  ['a default provider that is unknown', 'jobs: { default_provider: zeta }', /zeta, which is not configured/],
  ['a built-in local provider', 'routing: { strategy: fallback, chain: [ollama, echo] }', null],
  ['a provider with its model at the top only', 'vllm: { model: x }\njobs: { default_provider: vllm }', null],
  ['fallback without a chain', 'routing: { strategy: fallback }', /names no provider to try/],
  ['a chain without fallback', 'routing: { chain: [echo] }', /did you mean strategy: fallback/],
  [
    'reaping faster than heartbeats, which then come more often',
    'jobs: { reap_stale_after_seconds: 5 }',
    null,
  ],
  [
    'handling of limits for all providers',
    'providers: { defaults: { rate_limit: { max_retries: 5 } } }',
    null,
  ],
  ['no reaping', 'jobs: { reap_stale_after_seconds: 0 }', null],
];

for (const [title, yaml, warning] of odd) {
  test(`${warning === null ? 'fine' : 'warned of'}: ${title}`, async (t) => {
    const { warnings } = await load(t, yaml);
    t.is(warnings.length, warning === null ? 0 : 1, warnings.join('\n'));
    if (warning) t.regex(warnings[0] ?? '', warning);
  });
}

test('a byte order mark and the line ends of Windows are nothing, in YAML and in JSON', async (t) => {
  const texts = {
    'a.yaml': 'jobs:\r\n  max_attempts: 7\r\n',
    'a.json': '{"jobs":\r\n{"max_attempts": 7}}\r\n',
  };
  for (const [file, text] of Object.entries(texts)) {
    const cwd = await folderWith(t, { [file]: `\ufeff${text}` });
    const { config } = await loadConfig({ env: {}, cwd, file });
    t.is(config.jobs.maxAttempts, 7, file);
  }
});

test('a .json file must be JSON, and its errors tell the line', async (t) => {
  const cases: [text: string, line: string][] = [
    ['{\n  "port": 1,\n}', 'svc.config.json:3: not valid JSON: Expected double-quoted property name'],
    ['{\n  "port": 1', "svc.config.json:2: not valid JSON: Expected ',' or '}' after property value"],
    ['port: 1', "svc.config.json:1: not valid JSON: Unexpected token 'p'"],
    [
      `{\n  "host": "${'x'.repeat(80)}",\n  "port": nul,\n  "log": {}\n}`,
      "svc.config.json:3: not valid JSON: Unexpected token ','",
    ],
    ['{\n "host": "a",\n "host": "b"\n}', 'svc.config.json:3: not valid YAML: Map keys must be unique'],
    [
      '{\n\t"jobs": {\n\t\t"max_reap": 1\n\t}\n}',
      'svc.config.json:3: jobs.max_reap: unknown key, did you mean max_reaps?',
    ],
  ];
  for (const [text, line] of cases) {
    const cwd = await folderWith(t, { 'svc.config.json': text });
    const error = await t.throwsAsync(loadConfig({ env: {}, cwd }), { instanceOf: ConfigError });
    t.true(error?.message.startsWith(line), error?.message);
  }
});
