import { auditCommand } from './audit.ts';
import { completionCommand } from './completion.ts';
import { configCommand } from './config.ts';
import { coordinatorCommand } from './coordinator.ts';
import { costCommand } from './cost.ts';
import { demoCommand } from './demo.ts';
import { doctorCommand } from './doctor.ts';
import { processIo } from './io.ts';
import { jobsCommand } from './jobs.ts';
import { keysCommand } from './keys.ts';
import { createProgram, runProgram } from './program.ts';
import { providersCommand } from './providers.ts';
import { pauseCommand, resumeCommand } from './queue.ts';
import { runCommand } from './run.ts';
import { runsCommand } from './runs/runs.ts';
import { workerCommand } from './worker.ts';
import { workersCommand } from './workers.ts';

/**
 * The whole command line: parse, run one command. A new command is one line here.
 * @param args without node and script.
 * @returns the exit code.
 */
export async function main(args: readonly string[]): Promise<number> {
  const program = createProgram([
    coordinatorCommand(),
    workerCommand(),
    demoCommand(),
    runCommand(),
    runsCommand(),
    jobsCommand(),
    workersCommand(),
    providersCommand(),
    pauseCommand(),
    resumeCommand(),
    keysCommand(),
    auditCommand(),
    costCommand(),
    doctorCommand(),
    configCommand(),
    completionCommand(),
  ]);
  // `svc jobs list | head` closes the pipe early: not a failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The terminal was closed: SIGHUP handles it.
    if (error.code === 'EIO') return;
    if (error.code !== 'EPIPE') throw error;
    process.exit();
  });
  return runProgram(program, args, processIo());
}
