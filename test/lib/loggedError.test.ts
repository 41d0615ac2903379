import test from 'ava';
import { CoordinatorError, StoreUnavailable } from '../../src/domain/errors.ts';
import { loggedError } from '../../src/lib/loggedError.ts';

const secret = 'canary in the text of a request';

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return null;
}

test('no message of an error comes into the log that may quote a request', (t) => {
  const lines = `${secret}\n    at ${secret} (file.ts:1:1)`;
  const thrown = [
    thrownBy(() => JSON.parse(secret)),
    thrownBy(() => new RegExp(`${secret}(`)),
    thrownBy(() => BigInt(secret)),
    thrownBy(() => new URL(secret)),
    new Error(lines),
    new CoordinatorError('invalid_request', secret, { errors: [{ field: secret, message: secret }] }),
    new StoreUnavailable(secret, new SyntaxError(secret)),
    new Error('outer', { cause: new TypeError(lines) }),
    secret,
  ];
  for (const error of thrown) t.false(JSON.stringify(loggedError(error)).includes(secret));
});

test('what a maintainer needs stays: the class, the code and the frames', (t) => {
  const logged = loggedError(thrownBy(() => JSON.parse(secret)));
  t.is(logged.type, 'SyntaxError');
  t.regex(logged.stack ?? '', /^at JSON\.parse .*\nat .*loggedError\.test\.ts:\d+/);
  t.like(loggedError(new CoordinatorError('draining', 'x')), { code: 'draining' });
});

test('the operating system and the store are quoted', (t) => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), {
    code: 'ENOSPC',
    syscall: 'write',
  });
  const logged = loggedError(new StoreUnavailable('the change could not be made durable', full));
  t.is(logged.message, 'the change could not be made durable');
  t.like(logged.cause, { code: 'ENOSPC', message: 'ENOSPC: no space left on device, write' });
});
