/*
 * What people look at: figures, courses over time, cost reports, counts of the machines, and every event of every actor for
 * maintainers. Follows what is durable and changes nothing. A crash takes all of it away but what the store can count again.
 */

export { Activity } from './activity.ts';
export { Course } from './course.ts';
export { Inspector, inspectOption, nothingInspected } from './inspector.ts';
export { machineDefinitions } from './machineDefinitions.ts';
export { Reports } from './reports.ts';
