/* What the npm package exports: the typed client and the JSON that it sends and gets. */

export type * from '../domain/wire/audit.ts';
export type * from '../domain/wire/config.ts';
export type * from '../domain/wire/cost.ts';
export type * from '../domain/wire/health.ts';
export type * from '../domain/wire/job.ts';
export type * from '../domain/wire/key.ts';
export type * from '../domain/wire/machine.ts';
export type * from '../domain/wire/problem.ts';
export type * from '../domain/wire/provider.ts';
export type * from '../domain/wire/queue.ts';
export type * from '../domain/wire/routing.ts';
export type * from '../domain/wire/stats.ts';
export type * from '../domain/wire/webhook.ts';
export type * from '../domain/wire/worker.ts';
export * from './client.ts';
