import type { LiveConfig } from '../../../config/liveConfig.ts';
import { ConfigError } from '../../../config/problem.ts';
import { workerConfig } from '../../../config/workerConfig.ts';
import type { Doer } from '../../../domain/audit.ts';
import { CoordinatorError } from '../../../domain/errors.ts';
import { tagged } from '../../etag.ts';
import { etagHeader, ifNoneMatchHeader, notModified } from '../../openapi/headers.ts';
import { defineRoute, type Route } from '../../route.ts';
import { presentCurrent, presentProblems, presentReload } from './present.ts';
import { configReloadShape, configShape, workerConfigShape } from './shape.ts';

const getConfig = defineRoute({
  method: 'GET',
  path: '/api/config',
  role: 'admin',
  name: 'getConfig',
  tag: 'Configuration',
  summary: 'Read the configuration in effect',
  description: 'All settings, including defaults, and the source of each value. Secrets are masked.',

  answers: {
    200: { description: 'The configuration.', shape: configShape },
  },

  handle: (_, { live }) => ({ json: presentCurrent(live) }),
});

const reloadConfig = defineRoute({
  method: 'POST',
  path: '/api/config/reload',
  role: 'admin',
  name: 'reloadConfig',
  tag: 'Configuration',
  summary: 'Read the configuration file again',
  description:
    'SVC checks the whole file first. A file with a fault returns 400 with every fault and its line, and the old configuration stays in effect.',

  answers: {
    200: {
      description: 'What has changed.',
      shape: configReloadShape,
      examples: {
        limit: {
          value: {
            changed: [{ key: 'http.max_body_bytes', from: 1024, to: 4096 }],
            needs_restart: ['host'],
            warnings: [],
          },
        },
      },
    },
  },

  handle: async ({ doer }, { live }) => ({ json: presentReload(await reload(live, doer())) }),
});

const getWorkerConfig = defineRoute({
  method: 'GET',
  path: '/api/worker-config',
  role: 'worker',
  name: 'getWorkerConfig',
  tag: 'Configuration',
  summary: 'Read the part of the configuration that workers use',
  description:
    'With the keys of the file, so that `SVC_CONFIG_URL` of a worker can point here. It contains no secret: no `worker.api_key`, and no user or password of an address.',

  headers: [ifNoneMatchHeader],
  answers: {
    200: {
      description: "The workers' configuration. What is not set is left out.",
      shape: workerConfigShape,
      examples: {
        ollama: {
          value: {
            jobs: { reap_stale_after_seconds: 120, heartbeat_interval_seconds: 10 },
            providers: { ollama: { model: 'llama3.2', base_url: 'http://gpu:11434' } },
            ollama: { model: 'llama3.2' },
            worker: { providers: ['ollama'], tags: ['gpu'] },
          },
        },
      },
      headers: etagHeader,
    },
    304: notModified,
  },

  holdsSecret: true,
  handle: ({ headers }, { live }) => tagged(workerConfig(live.current), headers['if-none-match']),
});

/** /api/config: what is in force, and reading it again; /api/worker-config: the part that workers use. */
export const configRoutes: readonly Route[] = [getConfig, reloadConfig, getWorkerConfig];

async function reload(live: LiveConfig, by: Doer): ReturnType<LiveConfig['reload']> {
  try {
    return await live.reload(by);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const message = `The configuration cannot be used; the old one stays in force:\n${error.message}`;
    throw new CoordinatorError('invalid_request', message, { errors: presentProblems(error) });
  }
}
