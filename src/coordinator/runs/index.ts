/*
 * Runs: jobs that belong together under a name, with a budget and limits of their own. Promises one job for each line, however
 * often it is sent; that a run spends no more than its budget, as far as costs can be estimated; and that it ends and pauses by
 * itself. A crash leaves every run as it was committed last, with the totals of its jobs, and what is due is done after the
 * next start.
 */

export { jobIdOf, ownIdOf } from './lineId.ts';
export { openJobsOf, RunBook, type RunView } from './runBook.ts';
export { type Reservation, RunBudget } from './runBudget.ts';
export { RunChecks } from './runChecks.ts';
export { RunCommands, type RunRequest } from './runCommands.ts';
export { RunHost } from './runHost.ts';
export { type PlannedLine, RunIntake } from './runIntake.ts';
export { Runs } from './runs.ts';
export { RunWatch } from './runWatch.ts';
