import { join } from 'node:path';

export default {
  extensions: ['ts'],
  files: ['test/**/*.test.ts'],
  timeout: '3m',
  // Tests that wait for processes, disks and timers leave two cores idle for a quarter of the time when only two files run.
  concurrency: 4,
  environmentVariables: {
    // Absolute, because the processes that tests start have folders of their own and share it.
    NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compiled'),
  },
};
