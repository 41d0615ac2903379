import { join } from 'node:path';
import test from 'ava';
import { loadConfig } from '../../src/config/load.ts';
import { presentConfig } from '../../src/config/present.ts';
import { workerConfig } from '../../src/config/workerConfig.ts';
import { folderWith, load, problemsOf } from './folder.ts';

const secret = 'pk-a-secret-of-the-gateway';

test('headers, a key file, models and a query are read, and shown without what may be secret', async (t) => {
  const cwd = await folderWith(t, {
    'svc.config.yaml': `providers:
  gateway:
    base_url: https://gateway.example/v1?api-version=2024-10-21&sig=${secret}
    api_key_file: keys/gateway
    headers: { anthropic-beta: one-2025-01-01, x-portkey-api-key: ${secret}, x-unset: }
    models: [a, b]
`,
  });
  const { config } = await loadConfig({ env: {}, cwd });
  t.like(config.providers.gateway, {
    apiKeyFile: join(cwd, 'keys/gateway'),
    models: ['a', 'b'],
    headers: { 'anthropic-beta': 'one-2025-01-01', 'x-portkey-api-key': secret, 'x-unset': undefined },
  });
  const shown = presentConfig(config);
  t.false(JSON.stringify(shown).includes(secret));
  t.like(shown.providers.gateway, {
    base_url: 'https://gateway.example/v1?api-version=2024-10-21&sig=[hidden]',
    headers: { 'anthropic-beta': '[hidden]', 'x-portkey-api-key': '[hidden]' },
    models: ['a', 'b'],
  });
  const shared = workerConfig(config).providers?.gateway;
  t.like(shared, { models: ['a', 'b'], headers: undefined, api_key_file: undefined });
});

test('what cannot be a header, a key of two places and a # in an address are faults', async (t) => {
  const of = (block: string): Promise<string[]> => problemsOf(t, `providers: { gateway: { ${block} } }\n`);
  t.regex(
    (await of('headers: { "two words": x }')).join(),
    /headers\.two words: is not the name of a header/,
  );
  t.regex((await of('headers: { Content-Length: "5" }')).join(), /is not the name of a header/);
  const broken = await of(`headers: { x-key: "${secret}\\nx: y" }`);
  t.regex(broken.join(), /headers\.x-key: must be a text of printable ASCII/);
  t.false(broken.join().includes(secret));
  t.regex((await of('base_url: "https://a.example/v1#x"')).join(), /base_url: must not contain #/);
  t.regex(
    (await of('api_key_env: A_KEY, api_key_file: a')).join(),
    /api_key_file: is set together with api_key_env/,
  );
  t.is(
    (await load(t, 'providers: { gateway: { base_url: "https://a.example/v1?b=c" } }\n')).warnings.length,
    0,
  );
});
