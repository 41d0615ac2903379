import type { Client } from '../client/client.ts';
import { noSuch } from './act.ts';

/** The id of the worker with this name or id. @throws CommandFailure (refused) with the nearest name. */
export async function findWorkerId(client: Client, ref: string): Promise<string> {
  const { workers } = await client.workers();
  const found = workers.find(({ id }) => id === ref) ?? workers.find(({ name }) => name === ref);
  if (found) return found.id;
  throw noSuch(
    'worker',
    ref,
    workers.map(({ name }) => name),
  );
}
