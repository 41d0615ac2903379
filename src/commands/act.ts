import type { Command } from 'commander';
import type { Client } from '../client/client.ts';
import { nearest } from '../lib/nearest.ts';
import { plainLine, safeJson } from '../lib/plainText.ts';
import { createCommand } from './command.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import type { Io } from './io.ts';

/** A command that does the same to each of its arguments. */
export interface Act<Thing> {
  name: string;
  description: string;
  examples: readonly string[];
  /** The arguments in the help: `<worker...>`, and their description. */
  refs: readonly [syntax: string, description: string];
  /** The word for one of them. */
  thing: string;
  /** The id of an argument. @throws CommandFailure (refused). */
  find: (client: Client, ref: string) => Promise<string>;
  act: (client: Client, id: string) => Promise<Thing>;
  /** A line for people about its new state. */
  line: (thing: Thing) => string;
}

/** A command that does the same to one thing after another, and ends at the first failure. */
export function actCommand<Thing>(
  io: Io,
  { name, description, examples, refs, thing, find, act, line }: Act<Thing>,
): Command {
  return createCommand(name, description, examples)
    .argument(...refs)
    .option('--json', `print the JSON of the API, one document per ${thing}`)
    .action(async (names: string[], _options: ConnectionOptions & { json?: true }, command: Command) => {
      const flags = command.optsWithGlobals<ConnectionOptions & { json?: true }>();
      const client = await connect(flags, io);
      for (const ref of names) {
        const done = await act(client, await find(client, ref));
        io.out.line(flags.json ? safeJson(done) : line(done));
      }
    });
}

/** The error for an unknown thing; it suggests the nearest of the `names`, or lists them all. */
export function noSuch(thing: string, ref: string, names: readonly string[]): CommandFailure {
  const near = nearest(ref, names);
  const known = names.length === 0 ? 'there are none' : `known: ${names.map(plainLine).join(', ')}`;
  const help = near === null ? known : `did you mean ${plainLine(near)}?`;
  return new CommandFailure(exitCodes.refused, `There is no ${thing} ${ref}; ${help}`);
}
