#!/usr/bin/env node
import { configCommand } from './commands/config.ts';
import { coordinatorCommand } from './commands/coordinator.ts';
import { demoCommand } from './commands/demo.ts';
import { doctorCommand } from './commands/doctor.ts';
import { processIo } from './commands/io.ts';
import { jobsCommand } from './commands/jobs.ts';
import { createProgram, runProgram } from './commands/program.ts';
import { runCommand } from './commands/run.ts';
import { workerCommand } from './commands/worker.ts';
import { workersCommand } from './commands/workers.ts';

/** The command line's entry: parse, call one command. A new command is one line here. */
const program = createProgram([
  coordinatorCommand(),
  workerCommand(),
  demoCommand(),
  runCommand(),
  jobsCommand(),
  workersCommand(),
  doctorCommand(),
  configCommand(),
]);

// `svc jobs list | head` closes the pipe early: that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

process.exitCode = await runProgram(program, process.argv.slice(2), processIo());
