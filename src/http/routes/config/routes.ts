import type { LiveConfig } from '../../../config/liveConfig.ts';
import { ConfigError } from '../../../config/problem.ts';
import { workerConfig } from '../../../config/workerConfig.ts';
import type { Doer } from '../../../domain/audit.ts';
import { CoordinatorError } from '../../../domain/errors.ts';
import { tagged } from '../../etag.ts';
import { parseNothing } from '../../query.ts';
import type { Route } from '../../route.ts';
import { presentCurrent, presentProblems, presentReload } from './present.ts';

/** /api/config: what is in force, and reading it again; /api/worker-config: the part that workers use. */
export function configRoutes(live: LiveConfig): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/config',
      role: 'admin',
      handle: ({ query }) => {
        parseNothing(query);
        return { json: presentCurrent(live) };
      },
    },
    {
      method: 'POST',
      path: '/api/config/reload',
      role: 'admin',
      handle: async ({ query, doer }) => {
        parseNothing(query);
        return { json: presentReload(await reload(live, doer())) };
      },
    },
    {
      method: 'GET',
      path: '/api/worker-config',
      role: 'worker',
      holdsSecret: true,
      handle: ({ query, headers }) => {
        parseNothing(query);
        return tagged(workerConfig(live.current), headers['if-none-match']);
      },
    },
  ];
}

async function reload(live: LiveConfig, by: Doer): ReturnType<LiveConfig['reload']> {
  try {
    return await live.reload(by);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const message = `The configuration cannot be used; the old one stays in force:\n${error.message}`;
    throw new CoordinatorError('invalid_request', message, { errors: presentProblems(error) });
  }
}
