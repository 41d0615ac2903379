import test from 'ava';
import { costText, dollarText, nowText, promptText, waitedMs } from '../../src/commands/jobText.ts';
import { wireAttempt, wireJob } from '../client/server.ts';

test('an unknown cost is never shown as nothing', (t) => {
  t.is(costText({ cost_usd: null, cost_status: 'none' }), '-');
  t.is(costText({ cost_usd: null, cost_status: 'unknown' }), '?');
  t.is(costText({ cost_usd: 0.5, cost_status: 'partial' }), '≥$0.50');
  t.is(costText({ cost_usd: 0, cost_status: 'known' }), '$0');
});

test('dollars have as many digits as say something', (t) => {
  const cases: [number, string][] = [
    [1234.5, '$1234.50'],
    [0.1, '$0.10'],
    [0.0123, '$0.012'],
    [0.000012, '$0.000012'],
    [0.000000001, '$0.000000001'],
  ];
  for (const [dollars, text] of cases) t.is(dollarText(dollars), text);
});

test('a chat is shown by its last message', (t) => {
  const messages = [
    { role: 'system', content: 'Be brief' },
    { role: 'user', content: 'Hello?' },
  ];
  t.is(promptText({ prompt: null, messages }), 'Hello?');
  t.is(promptText({ prompt: null, messages: [{ role: 'user', content: [{ text: 'x' }] }] }), '(messages)');
});

test('waiting is what is left of a life without its attempts', (t) => {
  t.is(waitedMs(wireJob(), Date.parse('2026-11-21T09:00:05.000Z')), 5000);
  const again = wireJob({ attempts: [wireAttempt({ outcome: 'rate_limited' })] });
  t.is(waitedMs(again, Date.parse('2026-11-21T09:00:06.000Z')), 3500);
});

test('a wait with an end tells how long it still is', (t) => {
  const until = '2026-11-21T09:00:30.000Z';
  const waiting = {
    reason: 'provider_limited',
    detail: 'The provider answered 429',
    until,
    position: 2,
  } as const;
  const now = Date.parse('2026-11-21T09:00:00.000Z');
  t.is(nowText(wireJob({ waiting }), now), 'The provider answered 429 (place 2), 30.0 s left');
});
