import test from 'ava';
import { keptRawUsage } from '../../src/gateway/frames.ts';

test('the raw usage of a provider is kept up to 16 KiB, and left out beyond', (t) => {
  const largest = { text: 'x'.repeat(16 * 1024 - '{"text":""}'.length) };
  t.is(keptRawUsage(largest), largest);
  t.is(keptRawUsage({ text: `${largest.text}x` }), undefined);
  t.is(keptRawUsage(null), undefined);
});
