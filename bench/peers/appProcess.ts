import { serveApp } from '../support/app.ts';
import { setupVariable } from '../support/messages.ts';
import { openQueue } from './queues/queue.ts';
import { parsePeer } from './setup.ts';

/** The coordinator's middleware around a peer's queue, in a process of its own. */
const { kind, url } = parsePeer(process.env[setupVariable] ?? '');
const queue = await openQueue(kind, url);
await serveApp((id, request) => queue.add({ id, request }));
