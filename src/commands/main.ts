import { auditCommand } from './audit.ts';
import { backupCommand } from './backup.ts';
import { companionCommand } from './companion.ts';
import { completionCommand } from './completion.ts';
import { configCommand } from './config.ts';
import { coordinatorCommand } from './coordinator.ts';
import { costCommand } from './cost.ts';
import { demoCommand } from './demo.ts';
import { doctorCommand } from './doctor.ts';
import { type Io, processIo } from './io.ts';
import { jobsCommand } from './jobs.ts';
import { keysCommand } from './keys.ts';
import { mcpCommand } from './mcp/mcp.ts';
import { createProgram, runProgram } from './program.ts';
import { providersCommand } from './providers.ts';
import { pauseCommand, resumeCommand } from './queue.ts';
import { restoreCommand } from './restore.ts';
import { runCommand } from './run.ts';
import { runsCommand } from './runs/runs.ts';
import { webhooksCommand } from './webhooks.ts';
import { workerCommand } from './worker.ts';
import { workersCommand } from './workers.ts';

/**
 * The whole command line: parse, run one command. A new command is one line here.
 * @param args without node and script.
 * @returns the exit code.
 */
export function runCommandLine(args: readonly string[], io: Io): Promise<number> {
  const commands = [
    coordinatorCommand(),
    workerCommand(),
    companionCommand(io),
    demoCommand(io),
    runCommand(io),
    runsCommand(io),
    jobsCommand(io),
    workersCommand(io),
    providersCommand(io),
    pauseCommand(io),
    resumeCommand(io),
    keysCommand(io),
    webhooksCommand(io),
    auditCommand(io),
    costCommand(io),
    doctorCommand(io),
    configCommand(io),
    backupCommand(io),
    restoreCommand(io),
    mcpCommand(io),
    completionCommand(io),
  ];
  return runProgram(createProgram(commands, io), args, io);
}

/** The same for this process. */
export function main(args: readonly string[]): Promise<number> {
  // `svc jobs list | head` closes the pipe early: not a failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The terminal was closed: SIGHUP handles it.
    if (error.code === 'EIO') return;
    if (error.code !== 'EPIPE') throw error;
    process.exit();
  });
  return runCommandLine(args, processIo());
}
