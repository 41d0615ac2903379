import { CommanderError } from 'commander';
import { FileFault } from '../bulk/fault.ts';
import { ApiError, Unreachable, WaitTimedOut } from '../client/client.ts';
import { ConfigError } from '../config/problem.ts';
import { DataDamaged, messageOf } from '../domain/errors.ts';
import { Interrupted } from '../lib/interrupt.ts';

/** The exit codes of the process. Scripts depend on them; they are part of the interface. */
export const exitCodes = {
  ok: 0,
  /** The job failed or was cancelled, doctor found faults, the coordinator had an error. */
  failed: 1,
  /** Wrong usage or configuration. */
  usage: 2,
  unreachable: 3,
  /** The key was rejected, or its role does not allow this. */
  denied: 4,
  /** It does not exist, or its state does not allow this. */
  refused: 5,
  /** The coordinator's data folder must be restored before the next start; EX_DATAERR of sysexits(3). */
  dataDamaged: 65,
  /** The same as timeout(1). */
  timedOut: 124,
} as const;

/** For the end of every help page. */
export const exitCodeHelp = `
Exit codes:
  0    ok
  1    failure: a job failed or was cancelled, a run is paused, doctor found faults
  2    wrong usage or configuration
  3    the coordinator cannot be reached
  4    the key was rejected, or its role does not allow this
  5    not found, or not possible in this state
  65   the data folder, or a backup of it, is damaged
  124  the waiting time ran out; the job keeps running`;

/** A command has failed. The message is for people. */
export class CommandFailure extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.name = 'CommandFailure';
    this.exitCode = exitCode;
  }
}

/** The exit code for any error of a command. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandFailure || error instanceof Interrupted) return error.exitCode;
  if (error instanceof ConfigError || error instanceof FileFault) return exitCodes.usage;
  if (error instanceof DataDamaged) return exitCodes.dataDamaged;
  if (error instanceof Unreachable) return exitCodes.unreachable;
  if (error instanceof WaitTimedOut) return exitCodes.timedOut;
  if (error instanceof ApiError) return exitCodeOfStatus(error.status);
  return error instanceof CommanderError ? exitCodeOfParsing(error) : exitCodes.failed;
}

/** Whether only the waiting has ended, and the job continues. */
export function jobContinues(error: unknown): boolean {
  return error instanceof Interrupted || error instanceof WaitTimedOut || error instanceof Unreachable;
}

function exitCodeOfStatus(status: number): number {
  if (status === 401 || status === 403) return exitCodes.denied;
  if (status === 404 || status === 409) return exitCodes.refused;
  return [400, 413, 415].includes(status) ? exitCodes.usage : exitCodes.failed;
}

function exitCodeOfParsing({ code, exitCode }: CommanderError): number {
  if (code === 'commander.helpDisplayed' || code === 'commander.version') return exitCodes.ok;
  // `svc help jobs` requests it; `svc jobs` lacks a word, and gets the help on standard error.
  if (code === 'commander.help') return exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  // `command.error(message, {exitCode})`: the command chose the code.
  return code === 'commander.error' ? exitCode : exitCodes.usage;
}

/** The text for standard error; null when everything was already reported. */
export function explain(error: unknown): string | null {
  if (error instanceof CommanderError || error instanceof Interrupted) return null;
  if (error instanceof ConfigError) return `The configuration cannot be used:\n${indent(error.message)}`;
  if (!(error instanceof ApiError)) return messageOf(error);
  const fields = error.errors
    .map(({ field, message }) => `${field} ${message}`)
    .filter((line) => !error.detail.includes(line));
  const key =
    error.status === 401
      ? ['set a key with SVC_API_KEY or --key-file; svc doctor shows which one was used']
      : [];
  const request = error.status >= 500 && error.requestId !== null ? [`request ${error.requestId}`] : [];
  return [error.detail, ...[...fields, ...key, ...request].map(indent)].join('\n');
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}
