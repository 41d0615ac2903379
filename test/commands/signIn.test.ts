import test, { type ExecutionContext } from 'ava';
import { signInLink } from '../../src/commands/signInLink.ts';
import { apiKey, type CliOptions, emptyFolder, svcProcess } from './cli.ts';

/** Start a coordinator and stop it as soon as it has greeted. @returns what it said to people. */
async function greeting(
  t: ExecutionContext,
  cwd: string,
  more: string[] = [],
  env: CliOptions['env'] = { SVC_API_KEY: undefined },
): Promise<string> {
  let isStopped = false;
  const { code, stderr } = await svcProcess(t, ['coordinator', '--port', '0', ...more], {
    cwd,
    env,
    onError: (text, kill) => {
      if (isStopped || !/Dashboard.*\n/.test(text)) return;
      isStopped = true;
      kill('SIGTERM');
    },
  });
  t.is(code, 0, stderr);
  return stderr;
}

test('what is printed where no terminal reads it holds no key: neither at the first start nor later', async (t) => {
  const cwd = await emptyFolder(t);
  for (const more of [[], [], ['--with-echo-worker']]) {
    const said = await greeting(t, cwd, more);
    t.regex(said, /Dashboard: http:\/\/127\.0\.0\.1:\d+\/, with an API key\n/);
    t.notRegex(said, /svc_admin/);
  }
  t.regex(await greeting(t, await emptyFolder(t)), /Its admin key is in \/.*\/data\/admin\.key\n/);
});

test('on every address of the machine, what is printed can be opened, and it says so', async (t) => {
  const cwd = await emptyFolder(t);
  const said = await greeting(t, cwd, ['--host', '0.0.0.0'], {});
  t.regex(said, /ready at http:\/\/127\.0\.0\.1:\d+\n/);
  t.regex(
    said,
    /listens on every address of this machine; from another machine, use its name instead of 127\.0\.0\.1\n/,
  );
  t.regex(said, /Dashboard: http:\/\/127\.0\.0\.1:\d+\/, with an API key\n/);
  t.notRegex(await greeting(t, cwd, [], {}), /every address/);
});

test('a key of the environment is never printed', async (t) => {
  const cwd = await emptyFolder(t);
  const said = await greeting(t, cwd, ['--with-echo-worker'], {});
  t.false(said.includes(apiKey));
  t.regex(said, /with an API key/);
});

test('the key stands behind the # of the link, whatever it is made of', (t) => {
  t.is(signInLink('http://127.0.0.1:7420', 'a b&c#d'), 'http://127.0.0.1:7420/#key=a%20b%26c%23d');
  t.is(signInLink('https://svc.example.org/tools/', 'k'), 'https://svc.example.org/tools/#key=k');
});
