import { Command } from 'commander';
import { coordinatorCommand } from '../../src/commands/coordinator.ts';
import { workerCommand } from '../../src/commands/worker.ts';

/** The command line until there is src/svc.ts. */
await new Command('svc')
  .addCommand(coordinatorCommand())
  .addCommand(workerCommand())
  .parseAsync(process.argv);
