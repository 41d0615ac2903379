import test from 'ava';
import fc from 'fast-check';
import { fuzzOptions } from '../support/fuzz.ts';
import { startHere } from '../support/service.ts';
import { connectHttp } from './support.ts';

const names = [
  ...[
    'id',
    'ids',
    'jobs',
    'filter',
    'expected_count',
    'prompt',
    'messages',
    'provider',
    'params',
    'metadata',
  ],
  ...[
    'status',
    'tag',
    'q',
    'newest',
    'limit',
    'offset',
    'max_output_chars',
    'period',
    'from',
    'to',
    'tz',
    'by',
  ],
  ...['idempotency_key', 'constructor', 'toString'],
];

/** No body of any door may have this key, so the request is refused before a tool sees it. */
const refusedKey = /"__proto__":/;

test('whatever the arguments of a tool, it does what it says or says what is wrong with them', async (t) => {
  const here = await startHere(t, { config: { http: { rate_limit_per_key: 0 } } });
  const { sdk, call } = await connectHttp(t, here.url, { era: 'legacy' });
  const { tools } = await sdk.listTools();
  const args = fc.dictionary(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });
  const tool = fc.constantFrom(...tools.map(({ name }) => name));
  await fc.assert(
    fc.asyncProperty(tool, args, async (name, values) => {
      const answer = call(name, values);
      if (refusedKey.test(JSON.stringify(values))) {
        await t.throwsAsync(answer, { message: /a key that is refused/ });
        return;
      }
      const { isError, text } = await answer;
      if (isError) t.notRegex(text, /internal_error/);
    }),
    fuzzOptions(300),
  );
});
