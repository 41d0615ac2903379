import { processIo } from '../../src/commands/io.ts';
import { createProgram, runProgram } from '../../src/commands/program.ts';
import { workerCommand } from '../../src/commands/worker.ts';
import { setupVariable } from './messages.ts';
import { apiKeyOfProvider, apiKeyVariable } from './providers.ts';
import { serveSamples } from './samples.ts';

/** `svc worker` with the arguments of the bench, alone in its process, which reports what it spends. */
const args = JSON.parse(process.env[setupVariable] ?? '[]') as string[];
process.env[apiKeyVariable] = apiKeyOfProvider;
serveSamples('');
process.exitCode = await runProgram(createProgram([workerCommand()]), ['worker', ...args], processIo());
