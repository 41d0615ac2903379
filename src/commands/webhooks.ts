import { type Command, Option } from 'commander';
import type { Client } from '../client/client.ts';
import { type WebhookEventType, webhookEvents } from '../domain/webhook.ts';
import type { CreateWebhookBody, WireDelivery, WireNewWebhook, WireWebhook } from '../domain/wire/webhook.ts';
import { plainLine, safeJson } from '../lib/plainText.ts';
import type { Screen } from '../lib/screen.ts';
import type { Column } from '../lib/table.ts';
import { actCommand, noSuch } from './act.ts';
import { collect, createCommand } from './command.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { type Io, processIo } from './io.ts';
import { listCommand } from './list.ts';
import { factLines, sheetTable, whenText } from './sheet.ts';

interface Flags extends ConnectionOptions {
  json?: true;
}

/** What an endpoint is made or changed with; false: removed. */
interface SettingFlags {
  url?: string | undefined;
  name?: string | undefined;
  description?: string | undefined;
  event?: WebhookEventType[] | false | undefined;
  tag?: string[] | false | undefined;
}

/** `svc webhooks`: who is notified of what happens. Requires an admin key. */
export function webhooksCommand(io: Io = processIo()): Command {
  return createCommand('webhooks', 'List, create, change, test and delete webhooks', [
    'svc webhooks create ops https://hooks.example.com/svc',
    'svc webhooks deliveries ops',
    'svc webhooks test ops',
  ])
    .addCommand(
      listCommand(
        io,
        createCommand('list', 'List every webhook, without its secret', [
          'svc webhooks list',
          'svc webhooks list --json',
        ]),
        {
          ask: (client) => client.webhooks(),
          rows: ({ webhooks }) => webhooks,
          none: 'No webhooks. Create one with svc webhooks create <name> <url>.',
          table: webhookTable,
        },
      ),
    )
    .addCommand(showCommand(io))
    .addCommand(createWebhookCommand(io))
    .addCommand(changeCommand(io))
    .addCommand(switchCommand(io, 'pause', false))
    .addCommand(switchCommand(io, 'resume', true))
    .addCommand(rotateCommand(io))
    .addCommand(testCommand(io))
    .addCommand(deliveriesCommand(io))
    .addCommand(sendCommand(io))
    .addCommand(
      actCommand<WireWebhook>(io, {
        name: 'delete',
        description: 'Delete webhooks and what waits for them',
        examples: ['svc webhooks delete ops'],
        refs: ['<webhook...>', 'names or ids, as svc webhooks list shows them'],
        thing: 'webhook',
        find: findName,
        act: (client, name) => client.deleteWebhook(name),
        line: ({ name }) => `${name}  deleted`,
      }),
    );
}

function webhookTable(webhooks: readonly WireWebhook[], screen: Screen, now: number): string[] {
  const columns: Column<WireWebhook>[] = [
    { header: 'NAME', value: ({ name }) => name, shrinkTo: 10 },
    { header: 'URL', value: ({ url }) => url, shrinkTo: 20 },
    { header: 'STATE', value: stateText },
    { header: 'EVENTS', value: ({ events }) => events?.join(' ') ?? 'all', shrinkTo: 8 },
    { header: 'TAGS', value: ({ tags }) => tags?.join(' ') ?? '-', shrinkTo: 8 },
    { header: 'WAIT', value: ({ pending }) => String(pending), align: 'right' },
    { header: 'DROPPED', value: ({ dropped }) => String(dropped), align: 'right' },
    { header: 'CREATED', value: ({ created_at }) => whenText(created_at, now), align: 'right' },
  ];
  return sheetTable(columns, webhooks, screen);
}

function stateText({ stopped }: WireWebhook): string {
  return stopped === null ? 'enabled' : stopped.reason;
}

function showCommand(io: Io): Command {
  return createCommand('show', 'Show one webhook, without its secret', ['svc webhooks show ops'])
    .argument('<webhook>', 'its name or id')
    .option('--json', 'print the JSON of the API')
    .action(async (ref: string, _options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      const client = await connect(flags, io);
      const webhook = await client.webhook(await findName(client, ref));
      if (flags.json) return io.out.line(safeJson(webhook));
      const now = Date.now();
      io.out.lines(
        factLines(
          [
            ['name', webhook.name],
            ['id', webhook.id],
            ['url', plainLine(webhook.url)],
            ['description', plainLine(webhook.description ?? '-')],
            ['state', stateText(webhook)],
            ['events', webhook.events?.join(' ') ?? 'all'],
            ['tags', plainLine(webhook.tags?.join(' ') ?? '-')],
            ['waiting', String(webhook.pending)],
            ['dropped', String(webhook.dropped)],
            ['created', whenText(webhook.created_at, now)],
            ['old secret', whenText(webhook.previous_secret_until, now)],
          ],
          io.out,
        ),
      );
    });
}

/** The options for what is sent. */
function withFilters(command: Command): Command {
  return command
    .addOption(
      new Option('--event <event>', 'send only this event; repeatable').argParser(
        (value: string, before: string[] = []) => {
          if (webhookEvents.some((event) => event === value)) return collect(value, before);
          const known = `the events are ${webhookEvents.join(', ')}`;
          throw new CommandFailure(exitCodes.usage, `There is no event ${value}; ${known}`);
        },
      ),
    )
    .option('--tag <tag>', 'only events of jobs with this tag; repeatable', collect)
    .option('--description <text>', 'what it is for');
}

function settingsOf({ url, name, description, event, tag }: SettingFlags): Partial<CreateWebhookBody> {
  return {
    ...(url === undefined ? {} : { url }),
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description: description || null }),
    ...(event === undefined ? {} : { events: event || null }),
    ...(tag === undefined ? {} : { tags: tag || null }),
  };
}

function createWebhookCommand(io: Io): Command {
  const command = createCommand('create', 'Create a webhook and print its secret; it is shown only once', [
    'svc webhooks create ops https://hooks.example.com/svc',
    'svc webhooks create nightly https://hooks.example.com/n --event job.failed --tag nightly',
    'svc webhooks create named https://hooks.example.com/n --only-named    for jobs that name it',
  ])
    .argument('<name>', 'unique; letters, digits, ., _ and -')
    .argument('<url>', 'where messages are sent');
  return withFilters(command)
    .addOption(new Option('--only-named', 'send only what jobs and batches name it for').conflicts('event'))
    .option('--json', 'print the JSON of the API')
    .action(async (name: string, url: string, _options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags & SettingFlags & { onlyNamed?: true }>();
      const { event, tag, description, onlyNamed } = flags;
      const settings = settingsOf({ event, tag, description });
      const client = await connect(flags, io);
      const made = await client.createWebhook({
        ...settings,
        ...(onlyNamed ? { events: [] } : {}),
        name,
        url,
      });
      printSecret(made, flags.json, io);
    });
}

function changeCommand(io: Io): Command {
  const command = createCommand('change', 'Change where a webhook points and what it gets', [
    'svc webhooks change ops --to https://new.example.com/svc',
    'svc webhooks change ops --no-event --no-tag     all events again',
  ])
    .argument('<webhook>', 'its name or id')
    .option('--to <url>', 'where messages are sent')
    .option('--name <name>', 'a new name');
  return withFilters(command)
    .option('--no-event', 'all events')
    .option('--no-tag', 'any tags')
    .option('--json', 'print the JSON of the API')
    .action(async (ref: string, _options: Flags, command: Command) => {
      const { to, ...flags } = command.optsWithGlobals<Flags & SettingFlags & { to?: string }>();
      const { name, description, event, tag } = flags;
      const change = settingsOf({ url: to, name, description, event, tag });
      if (Object.keys(change).length === 0)
        throw new CommandFailure(
          exitCodes.usage,
          'Give at least one of --to, --name, --description, --event, --tag, --no-event, --no-tag',
        );
      const client = await connect(flags, io);
      const webhook = await client.changeWebhook(await findName(client, ref), change);
      io.out.line(flags.json ? safeJson(webhook) : `${webhook.name}  changed`);
    });
}

function switchCommand(io: Io, name: 'pause' | 'resume', enabled: boolean): Command {
  return actCommand<WireWebhook>(io, {
    name,
    description: enabled
      ? 'Send to webhooks again, also to those that were stopped'
      : 'Send nothing to webhooks; what waits for them stays',
    examples: [`svc webhooks ${name} ops`],
    refs: ['<webhook...>', 'names or ids, as svc webhooks list shows them'],
    thing: 'webhook',
    find: findName,
    act: (client, webhook) => client.changeWebhook(webhook, { enabled }),
    line: (webhook) => `${webhook.name}  ${stateText(webhook)}`,
  });
}

function rotateCommand(io: Io): Command {
  return createCommand(
    'rotate',
    'Give a webhook a new secret and print it; the old one signs too for a day',
    ['svc webhooks rotate ops'],
  )
    .argument('<webhook>', 'its name or id')
    .option('--json', 'print the JSON of the API')
    .action(async (ref: string, _options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      const client = await connect(flags, io);
      printSecret(await client.rotateWebhook(await findName(client, ref)), flags.json, io);
    });
}

function testCommand(io: Io): Command {
  return createCommand('test', 'Send a test message to a webhook now; exit code 1 unless it arrives', [
    'svc webhooks test ops',
  ])
    .argument('<webhook>', 'its name or id')
    .option('--json', 'print the JSON of the API')
    .action(async (ref: string, _options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      const client = await connect(flags, io);
      const outcome = await client.testWebhook(await findName(client, ref));
      const { delivered, status, error, ms } = outcome;
      if (flags.json) io.out.line(safeJson(outcome));
      else if (delivered) io.out.line(`delivered: ${status} after ${ms} ms`);
      if (!delivered)
        throw new CommandFailure(
          exitCodes.failed,
          `It did not arrive: ${error === null ? `the receiver answered ${status}` : plainLine(error)}`,
        );
    });
}

function deliveriesCommand(io: Io): Command {
  return createCommand('deliveries', 'List what waits for a webhook, and the last 100 that have ended', [
    'svc webhooks deliveries ops',
  ])
    .argument('<webhook>', 'its name or id')
    .option('--json', 'print the JSON of the API')
    .action(async (ref: string, _options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      const client = await connect(flags, io);
      const answer = await client.webhookDeliveries(await findName(client, ref));
      if (flags.json) return io.out.line(safeJson(answer));
      if (answer.deliveries.length === 0) return io.err.line('Nothing was sent yet, and nothing waits.');
      io.out.lines(deliveryTable(answer.deliveries, io.out, Date.now()));
    });
}

function deliveryTable(deliveries: readonly WireDelivery[], screen: Screen, now: number): string[] {
  const columns: Column<WireDelivery>[] = [
    { header: 'EVENT', value: ({ type }) => type },
    { header: 'ABOUT', value: ({ data }) => data.name ?? data.id ?? '-', shrinkTo: 12 },
    { header: 'STATE', value: ({ state }) => state },
    { header: 'TRIES', value: ({ tries }) => String(tries), align: 'right' },
    { header: 'LAST', value: ({ last }) => String(last?.status ?? last?.error ?? '-'), shrinkTo: 8 },
    { header: 'MS', value: ({ last }) => String(last?.ms ?? '-'), align: 'right' },
    { header: 'NEXT TRY', value: ({ next_try_at }) => whenText(next_try_at, now), align: 'right' },
    { header: 'CREATED', value: ({ created_at }) => whenText(created_at, now), align: 'right' },
    { header: 'ID', value: ({ id }) => id },
  ];
  return sheetTable(columns, deliveries, screen);
}

function sendCommand(io: Io): Command {
  return createCommand(
    'send',
    'Send a delivery again; one that waits is tried at once. The webhook must be enabled',
    ['svc webhooks send ops 0199a0f0-0000-7000-8000-000000000000'],
  )
    .argument('<webhook>', 'its name or id')
    .argument('<delivery>', 'its id, as svc webhooks deliveries shows it')
    .option('--json', 'print the JSON of the API')
    .action(async (ref: string, id: string, _options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      const client = await connect(flags, io);
      const delivery = await client.sendWebhookDelivery(await findName(client, ref), id);
      io.out.line(flags.json ? safeJson(delivery) : `${delivery.id}  is sent`);
    });
}

/** Only the secret on standard output, so that it can be redirected to a file; the rest on standard error. */
function printSecret(webhook: WireNewWebhook, json: true | undefined, io: Io): void {
  if (json) {
    io.out.line(safeJson(webhook));
    return;
  }
  io.err.line(
    `The secret of ${webhook.name}. It is shown only once; the receiver verifies messages with it.`,
  );
  io.out.line(webhook.secret);
}

/** The id of the webhook with this id or name. @throws CommandFailure (refused) when there is none. */
async function findName(client: Client, ref: string): Promise<string> {
  const { webhooks } = await client.webhooks();
  const found = webhooks.find(({ id, name }) => id === ref || name === ref);
  if (found !== undefined) return found.id;
  const names = webhooks.map(({ name }) => name);
  throw noSuch('webhook', ref, names);
}
