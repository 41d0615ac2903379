import { type Command, Option } from 'commander';
import type { Client } from '../client/client.ts';
import { isLastAdmin, type Role, roles } from '../domain/key.ts';
import { slotsMax } from '../domain/limits.ts';
import type { WireKey, WireKeyBounds, WireNewKey } from '../domain/wire/key.ts';
import { plainLine, safeJson } from '../lib/plainText.ts';
import type { Screen } from '../lib/screen.ts';
import type { Column } from '../lib/table.ts';
import { actCommand, noSuch } from './act.ts';
import { collect, count, createCommand, futureTime, seconds } from './command.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { type Io, processIo } from './io.ts';
import { listCommand } from './list.ts';
import { sheetTable, whenText } from './sheet.ts';

interface Flags extends ConnectionOptions {
  json?: true;
}

interface CreateFlags extends Flags {
  role: Role;
  name?: string;
  expires?: string;
}

/** The bounds of a key; false: removed. */
interface BoundFlags {
  namePattern?: string[] | false | undefined;
  tag?: string[] | false | undefined;
  provider?: string[] | false | undefined;
  maxConcurrency?: number | false | undefined;
}

/** `svc keys`: who may do what. Requires an admin key. */
export function keysCommand(io: Io = processIo()): Command {
  return createCommand('keys', 'List, create, change, rotate and revoke API keys', [
    'svc keys create --role worker --name box-1',
    'svc keys rotate box-1 --grace 600',
    'svc keys revoke box-1',
  ])
    .addCommand(
      listCommand(
        io,
        createCommand('list', 'List every key, without its secret', [
          'svc keys list',
          'svc keys list --json',
        ]),
        {
          ask: (client) => client.keys(),
          rows: ({ keys }) => keys,
          none: 'No keys. Create one with svc keys create --role worker.',
          table: keyTable,
        },
      ),
    )
    .addCommand(createKeyCommand(io))
    .addCommand(changeCommand(io))
    .addCommand(rotateCommand(io))
    .addCommand(
      actCommand<WireKey>(io, {
        name: 'revoke',
        description: 'Revoke keys and close their connections',
        examples: ['svc keys revoke box-1', 'svc keys revoke box-1 box-2 --json'],
        refs: ['<key...>', 'names or ids, as svc keys list shows them'],
        thing: 'key',
        find: findKeyId,
        act: async (client, id) => {
          const { keys } = await client.keys();
          const revoked = await client.revokeKey(id);
          if (isLastAdmin(keys, id)) io.err.line(noAdminLeft);
          return revoked;
        },
        line: (key) => `${nameOf(key)}  revoked`,
      }),
    );
}

const noAdminLeft =
  'That was the last admin key in the list. Only the SVC_API_KEY that the coordinator was started with is an admin key now.';

/** The key that the command line on the coordinator's machine uses. */
const fileColumn: Column<WireKey> = {
  header: 'FILE',
  value: ({ in_data_folder: isInFolder }) => (isInFolder ? 'admin.key' : '-'),
};

function keyTable(keys: readonly WireKey[], screen: Screen, now: number): string[] {
  const columns: Column<WireKey>[] = [
    { header: 'NAME', value: ({ name }) => name ?? '-', shrinkTo: 10 },
    { header: 'ROLE', value: ({ role }) => role },
    ...(keys.some(({ in_data_folder: is }) => is) ? [fileColumn] : []),
    { header: 'BOUND TO', value: boundsText, shrinkTo: 8 },
    { header: 'CREATED', value: ({ created_at }) => whenText(created_at, now), align: 'right' },
    { header: 'EXPIRES', value: ({ expires_at }) => whenText(expires_at, now), align: 'right' },
    { header: 'LAST USED', value: ({ last_used_at }) => whenText(last_used_at, now), align: 'right' },
    {
      header: 'OLD SECRET',
      value: ({ previous_valid_until: until }) => oldSecretText(until, now),
      align: 'right',
    },
    { header: 'ID', value: ({ id }) => id },
  ];
  return sheetTable(columns, keys, screen);
}

/** The options for what a key's workers may declare. */
function withBounds(command: Command): Command {
  return command
    .option(
      '--name-pattern <pattern>',
      'its workers need a name like this, * is any text; repeatable',
      collect,
    )
    .option('--tag <tag>', 'its workers may have only this tag; repeatable', collect)
    .option('--provider <name>', 'its workers may serve only this provider; repeatable', collect)
    .option('--max-concurrency <n>', 'slots of all its workers in total', count(0, slotsMax));
}

function boundsOf({ namePattern, tag, provider, maxConcurrency }: BoundFlags): Partial<WireKeyBounds> {
  return {
    ...(namePattern === undefined ? {} : { name_patterns: namePattern || null }),
    ...(tag === undefined ? {} : { tags: tag || null }),
    ...(provider === undefined ? {} : { providers: provider || null }),
    ...(maxConcurrency === undefined
      ? {}
      : { max_concurrency: maxConcurrency === false ? null : maxConcurrency }),
  };
}

function boundsText({ name_patterns: names, tags, providers, max_concurrency: slots }: WireKey): string {
  const parts = [
    names?.join(' '),
    tags === null ? undefined : `tags ${tags.join(' ') || 'none'}`,
    providers?.join(' '),
    slots === null ? undefined : `${slots} slots`,
  ];
  return plainLine(parts.filter((part) => part !== undefined).join(', ')) || '-';
}

function changeCommand(io: Io): Command {
  const command = createCommand('change', 'Bind a worker key to names, tags, providers and slots', [
    "svc keys change gpu --name-pattern 'gpu-*' --max-concurrency 8",
    'svc keys change gpu --no-tag --no-provider     no longer bound to tags and providers',
  ]).argument('<key>', 'its name or id');
  return withBounds(command)
    .option('--no-name-pattern', 'any name')
    .option('--no-tag', 'any tags')
    .option('--no-provider', 'any providers')
    .option('--no-max-concurrency', 'any number of slots')
    .option('--json', 'print the JSON of the API')
    .action(async (ref: string, _options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags & BoundFlags>();
      const bounds = boundsOf(flags);
      if (Object.keys(bounds).length === 0) {
        const message =
          'Give at least one of --name-pattern, --tag, --provider, --max-concurrency, or their --no-… forms';
        throw new CommandFailure(exitCodes.usage, message);
      }
      const client = await connect(flags, io);
      const key = await client.changeKey(await findKeyId(client, ref), bounds);
      if (flags.json) return io.out.line(safeJson(key));
      io.out.line(`${nameOf(key)}  bound to: ${boundsText(key)}`);
    });
}

function createKeyCommand(io: Io): Command {
  const command = createCommand('create', 'Create a key and print it; it is shown only once', [
    'svc keys create --role worker --name box-1',
    "svc keys create --role worker --name-pattern 'gpu-*' --tag eu --provider vllm --max-concurrency 8",
    'svc keys create --role client --name nightly --expires 2099-12-31',
    'svc keys create --role client > client.key     only the key goes into the file',
  ]);
  return withBounds(command)
    .addOption(new Option('--role <role>', 'what it may do').choices(roles).makeOptionMandatory())
    .option('--name <name>', 'name to show in lists')
    .option('--expires <time>', 'when it expires, such as 30d or 2099-12-31 (default: never)', futureTime)
    .option('--json', 'print the JSON of the API')
    .action(async (_options: CreateFlags, command: Command) => {
      const { role, name, expires, json, namePattern, tag, provider, maxConcurrency, ...connection } =
        command.optsWithGlobals<CreateFlags & BoundFlags>();
      const client = await connect(connection, io);
      const key = await client.createKey({
        role,
        ...boundsOf({ namePattern, tag, provider, maxConcurrency }),
        ...(name === undefined ? {} : { name }),
        ...(expires === undefined ? {} : { expires_at: expires }),
      });
      printSecret(key, json, io);
    });
}

function rotateCommand(io: Io): Command {
  return createCommand('rotate', 'Give a key a new secret and print it; it is shown only once', [
    'svc keys rotate box-1 --grace 600     ten minutes to replace the old one',
    'svc keys rotate box-1                 the old one stops working at once',
  ])
    .argument('<key>', 'its name or id')
    .option('--grace <seconds>', 'how long the old secret still works, 30 days at most (default: 0)', seconds)
    .option('--json', 'print the JSON of the API')
    .action(async (ref: string, _options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags & { grace?: number }>();
      const client = await connect(flags, io);
      const key = await client.rotateKey(await findKeyId(client, ref), flags.grace);
      printSecret(key, flags.json, io);
      if (!flags.json) io.err.lines(usersOf(key, Date.now()));
    });
}

/** Who has used a key lately, and where each of them has it. @param now epoch ms. */
function usersOf({ used_by: use }: WireNewKey, now: number): string[] {
  if (use === undefined || use.workers.length + use.clients.length === 0) return [];
  return [
    'Give the new key to those who used the old one lately:',
    ...use.workers.map(
      (name) => `  worker ${plainLine(name)}: SVC_API_KEY, --key-file or worker.api_key of its machine`,
    ),
    ...use.clients.map(({ name, address, last_used_at }) => {
      const from = address === null ? '' : ` from ${address}`;
      return `  ${plainLine(name)}${from}, ${whenText(last_used_at, now)}: ${placeOfKey(name)}`;
    }),
    ...(use.more ? ['  and others: the coordinator does not list all of them'] : []),
  ];
}

/** Where a program has its key, by its `User-Agent`. */
function placeOfKey(userAgent: string): string {
  const [, place] = places.find(([prefix]) => userAgent.startsWith(prefix)) ?? [];
  return place ?? 'its own settings';
}

const places: readonly (readonly [prefix: string, place: string])[] = [
  ['svc-mcp/', '~/.config/svc/mcp.yaml, or SVC_API_KEY of the client that starts svc mcp'],
  ['svc-companion/', 'the page of the companion'],
  ['svc-cli/', 'SVC_API_KEY or --key-file'],
  ['Mozilla/', 'sign in again on the dashboard'],
];

/** Only the secret on standard output, so that it can be redirected to a file; the rest on standard error. */
function printSecret(key: WireNewKey, json: true | undefined, io: Io): void {
  if (json) {
    io.out.line(safeJson(key));
    return;
  }
  io.err.line(
    `The key ${nameOf(key)}, role ${key.role}. It is shown only once; the coordinator stores only a hash.`,
  );
  io.out.line(key.key);
}

function nameOf({ name, id }: WireKey): string {
  return name === null ? id : plainLine(name);
}

function oldSecretText(until: string | null, now: number): string {
  return until === null || Date.parse(until) <= now ? '-' : `ends ${whenText(until, now)}`;
}

/**
 * The id of the key with this id, or of the only one with this name.
 * @throws CommandFailure (refused) when there is none or several: names may be equal, and a revoked key is gone.
 */
async function findKeyId(client: Client, ref: string): Promise<string> {
  const { keys } = await client.keys();
  const fitting = keys.filter(({ id, name }) => id === ref || name === ref);
  const found = fitting.find(({ id }) => id === ref) ?? fitting[0];
  if (found === undefined) throw noSuch('key', ref, keys.map(nameOf));
  if (found.id === ref || fitting.length === 1) return found.id;
  const ids = fitting.map(({ id }) => id).join(', ');
  throw new CommandFailure(
    exitCodes.refused,
    `Several keys have the name ${ref}; use one of these ids: ${ids}`,
  );
}
