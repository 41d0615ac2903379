import { join } from 'node:path';

export default {
  extensions: ['ts'],
  files: ['test/**/*.test.ts'],
  timeout: '3m',
  environmentVariables: {
    // Absolute, because the processes that tests start have folders of their own and share it.
    NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/compiled'),
  },
};
