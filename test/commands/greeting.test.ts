import test from 'ava';
import { type Greeting, greetingLines } from '../../src/commands/greeting.ts';

const adminKey = 'svc_admin_0123';
const said = (over: Partial<Greeting>): string =>
  greetingLines({
    url: 'http://127.0.0.1:7420',
    adminKey,
    isNewKey: false,
    isOwnKey: false,
    keyFile: '/data/admin.key',
    host: '127.0.0.1',
    statelyUrl: null,
    isTerminal: true,
    ...over,
  }).join('\n');

test('a terminal gets the link that signs in, and a new key once', (t) => {
  t.regex(said({}), /Dashboard, signed in: http:\/\/127\.0\.0\.1:7420\/#key=svc_admin_0123$/);
  t.notRegex(said({}), /Its admin key/);
  t.regex(said({ isNewKey: true }), /Its admin key, stored in \/data\/admin\.key:\n {2}svc_admin_0123\n/);
});

test('what is not a terminal gets no key, alone or in a link; a new one is named by its file', (t) => {
  for (const isNewKey of [true, false]) {
    const text = said({ isTerminal: false, isNewKey });
    t.false(text.includes(adminKey));
    t.is(text.includes('Its admin key is in /data/admin.key'), isNewKey);
    t.regex(text, /Dashboard: http:\/\/127\.0\.0\.1:7420\/, with an API key$/);
  }
});

test('a key of the environment is never shown', (t) => {
  t.false(said({ isOwnKey: true }).includes(adminKey));
});
