import type { Command } from 'commander';
import type { Client } from '../client/client.ts';
import { lineOf } from '../domain/failure.ts';
import type { ProviderStatus } from '../domain/states.ts';
import type { WireProvider } from '../domain/wire/provider.ts';
import { humanDuration } from '../lib/humanTime.ts';
import { plainLine } from '../lib/plainText.ts';
import type { Colour, Screen } from '../lib/screen.ts';
import type { Column } from '../lib/table.ts';
import { actCommand, noSuch } from './act.ts';
import { createCommand } from './command.ts';
import { type Io, processIo } from './io.ts';
import { listCommand } from './list.ts';
import { sheetTable, whenText } from './sheet.ts';

/** `svc providers`: list providers, and make them available again. */
export function providersCommand(io: Io = processIo()): Command {
  return createCommand('providers', 'List providers, and make them available again', [
    'svc providers list',
    'svc providers reset openai',
  ])
    .addCommand(
      listCommand(
        io,
        createCommand('list', 'List the providers that are configured, served by workers, or have run jobs', [
          'svc providers list',
          'svc providers list --json',
        ]),
        {
          ask: (client) => client.providers(),
          rows: ({ providers }) => providers,
          none: 'No providers yet. Workers and jobs add them.',
          table: providerTable,
        },
      ),
    )
    .addCommand(
      actCommand<WireProvider>(io, {
        name: 'reset',
        description:
          'Make providers available at once: clear their rate limit and close their circuit breaker',
        examples: ['svc providers reset openai', 'svc providers reset openai anthropic --json'],
        refs: ['<provider...>', 'names, as svc providers list shows them'],
        thing: 'provider',
        find: findProvider,
        act: (client, name) => client.resetProvider(name),
        line: ({ name, status }) => `${plainLine(name)}  ${status}`,
      }),
    );
}

const colours: Readonly<Record<ProviderStatus, Colour>> = {
  available: 'green',
  limited: 'yellow',
  open: 'red',
  probing: 'yellow',
};

/** Failures are long; the column is only there when there is one. */
const stoppedBy: Column<WireProvider> = {
  header: 'STOPPED BY',
  value: ({ breaker }) => (breaker.opened_by === null ? '-' : lineOf(breaker.opened_by)),
  shrinkTo: 20,
};

function providerTable(providers: readonly WireProvider[], screen: Screen, now: number): string[] {
  const columns: Column<WireProvider>[] = [
    { header: 'NAME', value: ({ name }) => name, shrinkTo: 10 },
    {
      header: 'STATUS',
      value: ({ status }) => status,
      paint: (text, { status }) => screen.paint(colours[status], text),
    },
    { header: 'ENDS', value: ({ until }) => whenText(until, now), align: 'right' },
    {
      header: 'RUNS',
      value: ({ running, max_concurrent: max }) => (max === null ? `${running}` : `${running}/${max}`),
      align: 'right',
    },
    { header: 'WORKERS', value: ({ workers }) => String(workers), align: 'right' },
    { header: 'FREE', value: ({ free_slots, slots }) => `${free_slots}/${slots}`, align: 'right' },
    {
      header: 'LATENCY',
      value: ({ latency_ms: latency }) => (latency === null ? '-' : humanDuration(latency)),
      align: 'right',
    },
    { header: 'MODELS', value: ({ models }) => models.join(' ') || '-', shrinkTo: 6 },
    ...(providers.some(({ breaker }) => breaker.opened_by !== null) ? [stoppedBy] : []),
  ];
  return sheetTable(columns, providers, screen);
}

/** The name itself. @throws CommandFailure (refused) with the nearest name when there is no such provider. */
async function findProvider(client: Client, ref: string): Promise<string> {
  const names = (await client.providers()).providers.map(({ name }) => name);
  if (names.includes(ref)) return ref;
  throw noSuch('provider', ref, names);
}
