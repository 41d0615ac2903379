import type { Client } from '../client/client.ts';
import { isUuid } from '../lib/uuid.ts';
import { CommandFailure, exitCodes } from './exit.ts';
import { shortId } from './jobText.ts';

/** Candidates for a partial id. */
const candidatesMax = 20;

/** The id for a whole or partial id that matches only one job. @throws CommandFailure (refused). */
export async function findJobId(client: Client, ref: string): Promise<string> {
  const part = ref.toLowerCase();
  if (isUuid(part)) return part;
  const { jobs } = await client.jobs({ q: part, limit: candidatesMax });
  const fitting = jobs.filter(({ id }) => id.includes(part));
  const [first, second] = fitting;
  if (first === undefined)
    throw new CommandFailure(exitCodes.refused, `There is no job with ${ref} in its id`);
  if (second === undefined) return first.id;
  const ids = fitting.map(({ id }) => id).join(', ');
  throw new CommandFailure(
    exitCodes.refused,
    `${ref} is part of several ids: ${ids}. Use more digits, such as ${shortId(first.id)}.`,
  );
}
