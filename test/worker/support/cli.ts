import { processIo } from '../../../src/commands/io.ts';
import { createProgram, runProgram } from '../../../src/commands/program.ts';
import { workerCommand } from '../../../src/commands/worker.ts';

/** `svc worker …` as a process, without the other commands: they would have to be loaded for every test. */
const program = createProgram([workerCommand()]);
process.exitCode = await runProgram(program, ['worker', ...process.argv.slice(2)], processIo());
