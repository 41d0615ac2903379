import { setPriority } from 'node:os';
import { type Reply, setupVariable } from '../support/messages.ts';
import { type Actor, type Attack, type AttackerSetup, attackAll } from './attacker.ts';
import { clientAttacks } from './attacks/client.ts';
import { strangerAttacks } from './attacks/stranger.ts';
import { viewerAttacks } from './attacks/viewer.ts';
import { workerAttacks } from './attacks/worker.ts';
import { Tally } from './tally.ts';

/** One hostile actor in a process of its own, which gives way to the coordinator and the honest ones. */
const niceness = 10;
/** For what is under way when the siege is over, ms. */
const endMsMax = 3_000;

const attacks: Record<Actor, readonly Attack[]> = {
  client: clientAttacks,
  viewer: viewerAttacks,
  worker: workerAttacks,
  stranger: strangerAttacks,
};

const setup: AttackerSetup = JSON.parse(process.env[setupVariable] ?? '');
const { hostname, port } = new URL(setup.url);
const { actor, url, key, from, only, quick, ms } = setup;
const say = (reply: Reply): void => void process.send?.(reply);

setPriority(niceness);
process.on('disconnect', () => process.exit(0));
const tally = new Tally();
// A fault of the attacker must not end the siege early and so look like a defence.
process.on('uncaughtException', (error) => tally.count('(attacker)', error.message));
process.on('unhandledRejection', (error) => tally.count('(attacker)', String(error)));
say({ type: 'ready', url });
const chosen = attacks[actor].filter(({ name }) => only === null || only.includes(name));
const over = AbortSignal.timeout(ms);
const siege = { url, host: hostname, port: Number(port), key, from, over, tally };
const ended = new Promise<void>((resolve) => {
  over.addEventListener('abort', () => setTimeout(resolve, endMsMax));
});
await Promise.race([attackAll(chosen, siege, quick), ended]);
await (over.aborted ? undefined : ended);
say({ type: 'tally', counts: tally.counts });
