/*
 * What people look at: figures, courses over time, cost reports, and counts of the machines. Follows what is durable and changes nothing. A crash takes all of it away but what the store can count again.
 */

export { Activity } from './activity.ts';
export { costBreakdown, costSummary } from './costs.ts';
export { Course } from './course.ts';
export { countMachines } from './machineCounts.ts';
export { machineDefinitions } from './machineDefinitions.ts';
export { takeStats } from './stats.ts';
