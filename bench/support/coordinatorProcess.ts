import { loadConfig } from '../../src/config/load.ts';
import { createLogger } from '../../src/lib/log.ts';
import { startService } from '../../src/service.ts';
import { setupVariable } from './messages.ts';
import { serveSamples } from './samples.ts';

/** The coordinator under test, alone in its process: the whole service with the defaults of its configuration. */
const dataDir = process.env[setupVariable] ?? '';
const { config, apiKey } = await loadConfig({
  env: process.env,
  cwd: process.cwd(),
  overrides: { port: '0', dataDir },
});
const service = await startService({ config, apiKey, logger: createLogger(config.log.level) });
serveSamples(service.url);
