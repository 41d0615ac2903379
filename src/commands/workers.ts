import type { Command } from 'commander';
import type { Client } from '../client/client.ts';
import { faultText, lineOf } from '../domain/failure.ts';
import { slotsMax } from '../domain/limits.ts';
import type { WireWorker } from '../domain/wire/worker.ts';
import { plainLine, safeJson } from '../lib/plainText.ts';
import type { Colour, Screen } from '../lib/screen.ts';
import type { Column } from '../lib/table.ts';
import { actCommand } from './act.ts';
import { count, createCommand } from './command.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { findWorkerId } from './findWorker.ts';
import { type Io, processIo } from './io.ts';
import { listCommand } from './list.ts';
import { factLines, sheetTable, whenText } from './sheet.ts';

interface Flags extends ConnectionOptions {
  json?: true;
}

/** `svc workers`: show workers, set how much work they take, and forget those that are disconnected. */
export function workersCommand(io: Io = processIo()): Command {
  return createCommand('workers', 'List, show, pause, resume, resize and forget workers', [
    'svc workers list',
    'svc workers pause box-1',
    'svc workers resize box-1 2',
  ])
    .addCommand(
      listCommand(
        io,
        createCommand('list', 'List every worker that the coordinator knows', [
          'svc workers list',
          'svc workers list --json',
        ]),
        {
          ask: (client) => client.workers(),
          rows: ({ workers }) => workers,
          none: 'No workers. Start one with svc worker --provider echo.',
          table: workerTable,
        },
      ),
    )
    .addCommand(getCommand(io))
    .addCommand(
      changeCommand(io, 'pause', 'Stop giving workers new jobs', (client, id) => client.pauseWorker(id)),
    )
    .addCommand(
      changeCommand(io, 'resume', 'Give paused workers new jobs again', (client, id) =>
        client.resumeWorker(id),
      ),
    )
    .addCommand(resizeCommand(io))
    .addCommand(
      changeCommand(io, 'forget', 'Remove workers that are not connected from the list', (client, id) =>
        client.forgetWorker(id),
      ),
    );
}

function getCommand(io: Io): Command {
  return createCommand('get', 'Show a worker', ['svc workers get box-1', 'svc workers get box-1 --json'])
    .argument('<worker>', 'its name or id')
    .option('--json', 'print the JSON of the API')
    .action(async (ref: string, _options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      const client = await connect(flags, io);
      const worker = await client.worker(await findWorkerId(client, ref));
      if (flags.json) return io.out.line(safeJson(worker));
      io.out.lines(workerSheet(worker, io.out, Date.now()));
    });
}

function resizeCommand(io: Io): Command {
  return createCommand('resize', 'Set how many jobs a worker runs at a time', [
    'svc workers resize box-1 2     two at a time, until the worker’s own setting changes',
    'svc workers resize box-1 0     no new jobs; running ones continue',
  ])
    .argument('<worker>', 'its name or id')
    .argument('<concurrency>', 'jobs at a time', count(0, slotsMax))
    .option('--json', 'print the JSON of the API')
    .action(async (ref: string, concurrency: number, _options: Flags, command: Command) => {
      const flags = command.optsWithGlobals<Flags>();
      const client = await connect(flags, io);
      const worker = await client.resizeWorker(await findWorkerId(client, ref), concurrency);
      if (flags.json) return io.out.line(safeJson(worker));
      io.out.line(`${plainLine(worker.name)}  ${worker.running} of ${worker.concurrency} slots in use`);
    });
}

function changeCommand(
  io: Io,
  name: 'pause' | 'resume' | 'forget',
  description: string,
  act: (client: Client, id: string) => Promise<WireWorker>,
): Command {
  return actCommand(io, {
    name,
    description,
    examples: [`svc workers ${name} box-1`, `svc workers ${name} box-1 box-2 --json`],
    refs: ['<worker...>', 'names or ids'],
    thing: 'worker',
    find: findWorkerId,
    act,
    line: (worker) => `${plainLine(worker.name)}  ${name === 'forget' ? 'forgotten' : statusOf(worker)}`,
  });
}

/** A paused worker that is disconnected is both. */
function statusOf({ status, paused }: WireWorker): string {
  return paused && status !== 'paused' ? `${status}, paused` : status;
}

function colourOf({ status, paused }: WireWorker): Colour {
  if (status === 'disconnected') return 'dim';
  return paused || status !== 'active' ? 'yellow' : 'green';
}

function workerTable(workers: readonly WireWorker[], screen: Screen, now: number): string[] {
  const columns: Column<WireWorker>[] = [
    { header: 'NAME', value: ({ name }) => name, shrinkTo: 10 },
    { header: 'STATUS', value: statusOf, paint: (text, worker) => screen.paint(colourOf(worker), text) },
    { header: 'KIND', value: ({ kind }) => kind },
    { header: 'PROVIDERS', value: ({ providers }) => providers.join(' '), shrinkTo: 9 },
    { header: 'RUNS', value: ({ running, concurrency }) => `${running}/${concurrency}`, align: 'right' },
    { header: 'DONE', value: ({ completed }) => String(completed), align: 'right' },
    { header: 'FAILED', value: ({ failed }) => String(failed), align: 'right' },
    { header: 'HEARD', value: ({ last_heartbeat_at }) => whenText(last_heartbeat_at, now), align: 'right' },
    { header: 'TAGS', value: ({ tags }) => tags.join(' '), shrinkTo: 4 },
    { header: 'ID', value: ({ id }) => id, shrinkTo: 8 },
  ];
  return sheetTable(columns, workers, screen);
}

function workerSheet(worker: WireWorker, screen: Screen, now: number): string[] {
  const models = Object.entries(worker.models).map(([provider, names]) => `${provider}: ${names.join(', ')}`);
  const facts: [name: string, value: string][] = [
    ['Worker', plainLine(worker.name)],
    ['Id', worker.id],
    ['Status', screen.paint(colourOf(worker), statusOf(worker))],
    ['Key', worker.key === null ? '-' : plainLine(worker.key.name ?? worker.key.key_id)],
    ['Kind', worker.kind],
    ['Providers', plainLine(worker.providers.join(', '))],
    ['Models', models.length === 0 ? 'any' : plainLine(models.join('; '))],
    ['Tags', plainLine(worker.tags.join(', ')) || '-'],
    ['Slots', `${worker.running} of ${worker.concurrency} in use`],
    ...worker.refusals.map((refusal): [string, string] => {
      const { at, until, error } = refusal;
      const next = until === null ? 'its next job is a trial' : `tried again ${whenText(until, now)}`;
      const text = `${faultText(refusal)}, ${whenText(at, now)}, ${next}: ${lineOf(error)}`;
      return ['Set aside', screen.paint('red', plainLine(text))];
    }),
    ['Done', `${worker.completed} completed, ${worker.failed} failed`],
    [
      'Host',
      plainLine(`${worker.host ?? '-'}${worker.version === null ? '' : `, version ${worker.version}`}`),
    ],
    ['Connected', whenText(worker.connected_at, now)],
    ['Heard', whenText(worker.last_heartbeat_at, now)],
    ['Runs', worker.running_jobs.join(', ') || '-'],
  ];
  return factLines(facts, screen);
}
