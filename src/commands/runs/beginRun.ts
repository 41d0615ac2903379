import { basename, extname } from 'node:path';
import { ApiError, type Client } from '../../client/client.ts';
import { runNameMax, runNamePattern } from '../../domain/run.ts';
import type { DispatchBody } from '../../domain/wire/job.ts';
import type { OutputCheckBody, ResumeRunBody, WireRun } from '../../domain/wire/run.ts';
import { canonicalJson } from '../../lib/canonicalJson.ts';
import { CommandFailure, exitCodes } from '../exit.ts';
import type { Patience } from './patience.ts';
import { pauseLines } from './runText.ts';

/** Limits that a command gives; those that are absent do not change. */
export interface LimitFlags {
  maxCost?: number | undefined;
  maxFailures?: number | undefined;
  /** ISO 8601. */
  deadline?: string | undefined;
}

/** A run to which jobs can be sent. */
export interface Begun {
  run: WireRun;
  isNew: boolean;
  /** Fields that its own defaults do not set in the same way: they go with each line. */
  fields: DispatchBody;
}

/** @throws CommandFailure (usage). */
export function checkRunName(name: string): string {
  if (name.length <= runNameMax && runNamePattern.test(name)) return name;
  throw new CommandFailure(
    exitCodes.usage,
    `--run must be 1 to ${runNameMax} letters, digits, dots, dashes and underscores, and begin with a letter or digit`,
  );
}

/** A name for a run without one: `prompts-20261123-091500-4f2`. @param random 0..1. */
export function runNameFor(file: string, now: Date, random: number): string {
  const stem = file === '-' ? 'stdin' : basename(file, extname(file));
  const plain = stem.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '');
  const time = now.toISOString().replaceAll(/[-:]/g, '').replace('T', '-').slice(0, 15);
  const suffix = Math.floor(random * 4096)
    .toString(16)
    .padStart(3, '0');
  return `${plain === '' ? 'run' : plain.slice(0, 60)}-${time}-${suffix}`;
}

/** The limits as the API has them. */
export function limitsBody({ maxCost, maxFailures, deadline }: LimitFlags): ResumeRunBody {
  return {
    ...(maxCost === undefined ? {} : { max_cost_usd: maxCost }),
    ...(maxFailures === undefined ? {} : { max_failures: maxFailures }),
    ...(deadline === undefined ? {} : { deadline }),
  };
}

/** What a command asks of a run. */
export interface RunWanted {
  name: string;
  defaults: DispatchBody;
  limits: LimitFlags;
  check: OutputCheckBody;
}

/**
 * Make the run, or go on with the one of this name. One that is paused by a limit which the flags raise is resumed.
 * @param say writes a line for people.
 */
export async function beginRun(
  client: Client,
  { name, defaults, limits, check }: RunWanted,
  patience: Patience,
  say: (text: string) => void,
): Promise<Begun> {
  const found = await patience.ask((signal) => client.run(name, { signal }).catch(noneFound));
  if (found === null) {
    const body = { name, ...limitsBody(limits), ...check, defaults };
    const run = await patience.ask((signal) => client.makeRun(body, { signal }));
    return { run, isNew: true, fields: {} };
  }
  if (found.status === 'cancelled')
    throw new CommandFailure(
      exitCodes.refused,
      `run ${name} was cancelled and takes no more jobs; give another --run`,
    );
  if (check.output_schema !== undefined && !isSameSchema(check, found)) {
    throw new CommandFailure(
      exitCodes.refused,
      `run ${name} was made ${found.output_schema === null ? 'without a schema' : 'with another schema'}, and a run keeps its own; give another --run`,
    );
  }
  const fields = differing(defaults, found.defaults);
  const names = Object.keys(fields);
  if (names.length > 0)
    say(`Run ${name} was made with other settings; lines that are new to it get your ${names.join(', ')}.`);
  const run = await withLimits(client, found, limits, patience, say);
  return { run, isNew: false, fields };
}

function isSameSchema({ output_schema: wanted }: OutputCheckBody, { output_schema: had }: WireRun): boolean {
  return canonicalJson(wanted) === canonicalJson(had);
}

function noneFound(error: unknown): null {
  if (error instanceof ApiError && error.code === 'run_not_found') return null;
  throw error;
}

function differing(wanted: DispatchBody, had: DispatchBody): DispatchBody {
  const before: Readonly<Record<string, unknown>> = { ...had };
  const entries = Object.entries(wanted).filter(
    ([field, value]) => canonicalJson(before[field] ?? null) !== canonicalJson(value),
  );
  return Object.fromEntries(entries);
}

/** Change the limits of a run to those of the flags, and let it go on when one of them paused it. */
async function withLimits(
  client: Client,
  run: WireRun,
  flags: LimitFlags,
  patience: Patience,
  say: (text: string) => void,
): Promise<WireRun> {
  const changes = run.paused === null ? isChanged(run, flags) : isRaised(run, flags);
  if (!changes) {
    for (const line of pauseLines(run)) say(line);
    return run;
  }
  try {
    const limits = limitsBody({ ...flags, deadline: keepsDeadline(run) ? undefined : flags.deadline });
    const changed = await patience.ask((signal) => client.resumeRun(run.name, limits, { signal }));
    say(`Run ${run.name} ${run.paused === null ? 'has' : 'goes on with'} the new limits.`);
    return changed;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
    say(error.detail);
    return run;
  }
}

/** `--deadline 6h` of the same command again counts from the first time, until the deadline has come. */
function keepsDeadline({ deadline, paused }: WireRun): boolean {
  return deadline !== null && paused?.reason !== 'deadline';
}

function isChanged(run: WireRun, { maxCost, maxFailures, deadline }: LimitFlags): boolean {
  return (
    (maxCost !== undefined && maxCost !== run.max_cost_usd) ||
    (maxFailures !== undefined && maxFailures !== run.max_failures) ||
    (deadline !== undefined && run.deadline === null)
  );
}

function isRaised(
  { paused, max_cost_usd: cost, max_failures: failures }: WireRun,
  flags: LimitFlags,
): boolean {
  if (paused?.reason === 'max_cost') return (flags.maxCost ?? 0) > (cost ?? Number.POSITIVE_INFINITY);
  if (paused?.reason === 'max_failures')
    return (flags.maxFailures ?? 0) > (failures ?? Number.POSITIVE_INFINITY);
  return paused?.reason === 'deadline' && Date.parse(flags.deadline ?? '') > Date.now();
}
