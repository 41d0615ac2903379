import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Io } from '../../src/commands/io.ts';
import { runCommandLine } from '../../src/commands/main.ts';
import { type ClientName, clientFile, clientNames } from '../../src/commands/mcp/clients.ts';
import { readToml } from '../../src/commands/mcp/tomlSettings.ts';
import { fieldsOf } from '../../src/lib/fields.ts';
import { createScreen } from '../../src/lib/screen.ts';
import { temporaryFolder } from '../support/folder.ts';

interface Ran {
  code: number;
  out: string;
  err: string;
}

/** `svc …` in this process, with a home of its own by the variables that the clients have for it. */
async function svc(home: string, args: readonly string[], stdin: readonly string[] = []): Promise<Ran> {
  let out = '';
  let err = '';
  const env = envOf(home);
  const output = { write: (text: string) => (out += text) };
  const io: Io = {
    env,
    cwd: home,
    out: createScreen(output, env),
    err: createScreen({ write: (text: string) => (err += text) }, env),
    stdout: process.stdout,
    stdin: (async function* () {
      yield* stdin;
    })(),
  };
  const code = await runCommandLine(args, io);
  return { code, out, err };
}

const envOf = (home: string) => ({
  XDG_CONFIG_HOME: join(home, 'config'),
  CLAUDE_CONFIG_DIR: home,
  CODEX_HOME: join(home, 'codex'),
});

const fileOf = (home: string, name: ClientName) =>
  clientFile(name, { env: envOf(home), platform: 'linux', home });

/** The files of Cursor are in the home of the user, which a test leaves alone. */
const written = clientNames.filter((name) => name !== 'cursor');

function entryIn(t: ExecutionContext, text: string, servers: string): Record<string, unknown> {
  const { [servers]: all } = JSON.parse(text) as Record<string, Record<string, Record<string, unknown>>>;
  const entry = all?.svc;
  if (entry === undefined) return t.fail('there is no entry') as never;
  return entry;
}

for (const name of written.filter((one) => one !== 'codex')) {
  test(`${name}: the entry is added beside others, once, and the file as it was is kept`, async (t) => {
    const home = temporaryFolder(t);
    const { path, servers } = fileOf(home, name);
    mkdirSync(dirname(path), { recursive: true });
    const before = JSON.stringify({ theme: 'dark', [servers]: { other: { command: 'x' } } }, null, 4);
    writeFileSync(path, before);
    chmodSync(path, 0o640);
    const first = await svc(home, ['mcp', '--install', name]);
    t.is(first.code, 0, first.err);
    t.regex(first.out, /Added svc to .*\n.*before-svc/);
    t.regex(first.out, /svc mcp --set-key/);
    const after = readFileSync(path, 'utf8');
    t.like(JSON.parse(after), { theme: 'dark', [servers]: { other: { command: 'x' } } });
    t.like(entryIn(t, after, servers), { command: process.execPath });
    t.deepEqual((entryIn(t, after, servers).args as string[]).slice(1), ['mcp']);
    t.is(readFileSync(`${path}.before-svc`, 'utf8'), before);
    t.is(statSync(path).mode & 0o777, 0o640);
    const second = await svc(home, ['mcp', '--install', name]);
    t.regex(second.out, /has it already/);
    t.is(readFileSync(path, 'utf8'), after);
    t.is(readFileSync(`${path}.before-svc`, 'utf8'), before);
  });

  test(`${name}: a file that is not understood stays as it is`, async (t) => {
    const home = temporaryFolder(t);
    const { path } = fileOf(home, name);
    mkdirSync(dirname(path), { recursive: true });
    const before = '{\n  // mine\n  "a": \n}\n';
    writeFileSync(path, before);
    const { code, err } = await svc(home, ['mcp', '--install', name]);
    t.is(code, 5);
    t.regex(err, /by hand:\n\n\{/);
    t.is(readFileSync(path, 'utf8'), before);
    t.false(existsSync(`${path}.before-svc`));
  });
}

test('comments, numbers and the order of JSON settings stay as they are', async (t) => {
  const home = temporaryFolder(t);
  const { path, servers } = fileOf(home, 'claude-desktop');
  mkdirSync(dirname(path), { recursive: true });
  const head = `{\n  // mine\n  "2": 12345678901234567890, "1": [1.0,\n 2],\n`;
  writeFileSync(path, `${head}  "${servers}": {\n    "other": { "command": "x" } // theirs\n  },\n}\n`);
  t.is((await svc(home, ['mcp', '--install', 'claude-desktop'])).code, 0);
  const after = readFileSync(path, 'utf8');
  t.true(after.startsWith(head), after);
  t.regex(after, /"other": \{ "command": "x" \}, ?\/\/ theirs\n/);
  t.regex(after, /"svc": \{/);
  t.regex((await svc(home, ['mcp', '--install', 'claude-desktop'])).out, /has it already/);
});

/** Settings of Codex, and what has to be in them after `svc mcp --install codex`; null: they are left to the person. */
const codexFiles: [name: string, before: string, kept: RegExp[] | null][] = [
  ['an empty file', '', [/^\[mcp_servers\.svc\]\ncommand = /]],
  [
    'an entry with settings of the person',
    'model = "m" # mine\n\n[mcp_servers.svc]\ncommand = "old"\nenabled = false # for now\nenabled_tools = ["get_job"]\n\n[mcp_servers.svc.tools.get_job]\napproval_mode = "auto"\n\n# my other server\n[mcp_servers.svc2]\ncommand = "keep"\n',
    [
      /^model = "m" # mine\n/,
      /enabled = false # for now\nenabled_tools = \["get_job"\]\n/,
      /\n\[mcp_servers\.svc\.tools\.get_job\]\napproval_mode = "auto"\n\n# my other server\n\[mcp_servers\.svc2\]\ncommand = "keep"\n/,
    ],
  ],
  [
    'a header with spaces',
    '[ mcp_servers.svc ]\ncommand = "old"\n',
    [/^\[ mcp_servers\.svc \]\ncommand = "[^o]/],
  ],
  [
    'a header in quotes',
    '["mcp_servers".svc]\ncommand = "old"\n',
    [/^\["mcp_servers"\.svc\]\ncommand = "[^o]/],
  ],
  [
    'a text that looks like a header',
    'text = """\n[mcp_servers.svc]\ncommand = "no"\n"""\n',
    [/^text = """\n\[mcp_servers\.svc\]\ncommand = "no"\n"""\n/],
  ],
  ['an inline table', 'mcp_servers = { svc = { command = "x" } }\n', null],
  ['a dotted key', 'mcp_servers.svc.command = "old"\n', null],
  ['an inline entry', '[mcp_servers]\nsvc = { command = "old" }\n', null],
  ['invalid TOML', 'a = \n', null],
  ['an entry by HTTP', '[mcp_servers.svc]\nurl = "http://x"\n', null],
];

for (const [name, before, kept] of codexFiles) {
  test(`codex: ${name}`, async (t) => {
    const home = temporaryFolder(t);
    const { path } = fileOf(home, 'codex');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, before);
    const { code, err } = await svc(home, ['mcp', '--install', 'codex']);
    const after = readFileSync(path, 'utf8');
    if (kept === null) {
      t.is(code, 5);
      t.regex(err, /by hand:\n\n\[mcp_servers\.svc\]/);
      t.is(after, before);
      return;
    }
    t.is(code, 0, err);
    for (const pattern of kept) t.regex(after, pattern);
    const { mcp_servers: entries, ...others } = readToml(after) ?? {};
    const { mcp_servers: former, ...othersBefore } = readToml(before) ?? {};
    t.deepEqual(others, othersBefore);
    const { svc: entry, ...rest } = fieldsOf(entries);
    const { svc: formerEntry, ...formerRest } = fieldsOf(former);
    t.deepEqual(rest, formerRest);
    t.like(fieldsOf(entry), { ...fieldsOf(formerEntry), command: process.execPath });
    t.regex((await svc(home, ['mcp', '--install', 'codex'])).out, /has it already/);
  });
}

/** `svc mcp --install` of a client whose settings are `before`: how it ended, and the bytes after it. */
async function installInto(t: ExecutionContext, name: ClientName, before: string | Buffer) {
  const home = temporaryFolder(t);
  const { path } = fileOf(home, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, before);
  const ran = await svc(home, ['mcp', '--install', name]);
  return { ...ran, home, after: readFileSync(path), hasBackup: existsSync(`${path}.before-svc`) };
}

test('codex: of an entry only lines of ours change, whatever its variables and the ends of its lines', async (t) => {
  const others = '# my other server\r\n[mcp_servers.other]\r\ncommand = "y"';
  const { code, err, after, home } = await installInto(
    t,
    'codex',
    `\ufeff[mcp_servers.svc.env]\r\nMINE = "1"\r\n\r\n[mcp_servers.svc] # ours\r\ncommand = "old" # why\r\ntool_timeout_sec = 90\r\n\r\n${others}`,
  );
  t.is(code, 0, err);
  const variable = `XDG_CONFIG_HOME = ${JSON.stringify(join(home, 'config'))}`;
  const command = `command = ${JSON.stringify(process.execPath)} # why`;
  const args = `args = [${JSON.stringify(process.argv[1])}, "mcp"]`;
  t.is(
    after.toString(),
    `\ufeff[mcp_servers.svc.env]\r\nMINE = "1"\r\n${variable}\r\n\r\n[mcp_servers.svc] # ours\r\n${command}\r\ntool_timeout_sec = 90\r\n${args}\r\n\r\n${others}`,
  );
});

test('JSON settings on one line stay on it, to the digit', async (t) => {
  const before = '{"big":12345678901234567890,"mcpServers":{"other":{"command":"x"}}}';
  const { after } = await installInto(t, 'claude', before);
  t.true(after.toString().startsWith(`${before.slice(0, -2)},"svc":{"type":"stdio",`));
  t.false(after.includes('\n'));
  t.notThrows(() => JSON.parse(after.toString()));
});

test('settings that would be read otherwise than they look are left to the person', async (t) => {
  const files: [name: ClientName, before: string | Buffer][] = [
    ['vscode', '{"servers":{"svc":{"command":"a"}},"servers":{}}'],
    ['vscode', '{"servers":{"svc":{"command":"a","command":"b"}}}'],
    ['vscode', '{"servers":{"svc":{"type":"http","url":"https://svc.example.com/mcp"}}}'],
    ['vscode', '{"servers":{"svc":"svc mcp"}}'],
    ['vscode', '{} {}'],
    ['codex', '[[mcp_servers.svc]]\ncommand = "x"\n'],
    ['codex', 'mcp_servers = { other = { command = "x" } }\n'],
    ['codex', '[mcp_servers.svc]\ncommand = "x"\nenv = { A = "1" }\n'],
    ['codex', Buffer.from('a = "\xe4"\n', 'latin1')],
  ];
  for (const [name, before] of files) {
    const { code, after, hasBackup } = await installInto(t, name, before);
    t.is(code, 5, String(before));
    t.deepEqual(after, Buffer.from(before));
    t.false(hasBackup);
  }
});

test('--print writes nothing and shows the entry of every client', async (t) => {
  const home = temporaryFolder(t);
  for (const name of clientNames) {
    const { code, out, err } = await svc(home, ['mcp', '--install', name, '--print']);
    t.is(code, 0);
    t.regex(out, name === 'codex' ? /^\[mcp_servers\.svc\]/ : /^\{/);
    t.regex(err, /^For .*, in .*:/);
    if (name !== 'cursor') t.false(existsSync(fileOf(home, name).path));
  }
});

test('a key is read from standard input and never shown', async (t) => {
  const home = temporaryFolder(t);
  const key = 'svc_client_0123456789abcdef';
  const args = ['mcp', '--set-key', '--url', 'http://127.0.0.1:1'];
  const { code, out, err } = await svc(home, args, [key.slice(0, 5), `${key.slice(5)}\n`]);
  t.is(code, 0, err);
  t.false((out + err).includes(key));
  const path = join(home, 'config', 'svc', 'mcp.yaml');
  t.is(readFileSync(path, 'utf8'), `url: http://127.0.0.1:1\napi_key: ${key}\n`);
  t.is(statSync(path).mode & 0o777, 0o600);
  t.is((await svc(home, ['mcp', '--set-key'], ['short'])).code, 2);
  t.is((await svc(home, ['mcp', '--set-key'], ['x'.repeat(20_000)])).code, 2);
  t.is((await svc(home, ['mcp', '--print'])).code, 2);
  t.is((await svc(home, ['mcp', '--install', 'emacs'])).code, 2);
});
