import { workerCommand } from '../../../src/commands/worker.ts';

/** The command by itself, as a process. */
await workerCommand().parseAsync(process.argv);
