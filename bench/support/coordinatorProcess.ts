import { LiveConfig } from '../../src/config/liveConfig.ts';
import { loadConfig } from '../../src/config/load.ts';
import { createLogger } from '../../src/lib/log.ts';
import { startService } from '../../src/service.ts';
import { type CoordinatorSetup, setupVariable } from './messages.ts';
import { serveSamples } from './samples.ts';

/** The coordinator under test, alone in its process: the whole service, with the defaults where no file says other. */
const { dataDir, configFile, port }: CoordinatorSetup = JSON.parse(process.env[setupVariable] ?? '');
const from = {
  env: process.env,
  cwd: process.cwd(),
  overrides: { port: String(port), dataDir },
  ...(configFile === null ? {} : { file: configFile }),
};
const loaded = await loadConfig(from);
const logger = createLogger(loaded.config.log.level);
const config = LiveConfig.ofFile(loaded, from, logger);
const service = await startService({ config, apiKey: loaded.apiKey, logger });
serveSamples(service.url);
