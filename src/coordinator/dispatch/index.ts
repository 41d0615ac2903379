/*
 * Who gets which job, and why another one waits. Promises the order of the queue, and that an assignment is durable before it
 * leaves. A crash leaves jobs pending or running, nothing between.
 */

export { Candidates } from './candidates.ts';
export { Dispatcher } from './dispatcher.ts';
export { explainRoute, type RouteExplanation } from './explainRoute.ts';
export { WaitingReasons } from './waitingReason.ts';
