import { serveApp } from './app.ts';

/**
 * The peer of the dispatch scenario: the coordinator's own middleware around a handler that keeps nothing. What it
 * serves more is the price of the actor, the journal and its fsync.
 */
await serveApp(() => undefined);
