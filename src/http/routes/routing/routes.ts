import type { Config } from '../../../config/config.ts';
import type { Coordinator } from '../../../coordinator/coordinator.ts';
import { jsonBody } from '../../middleware/jsonBody.ts';
import { parseNothing } from '../../query.ts';
import type { Route } from '../../route.ts';
import type { Uploads } from '../../uploads.ts';
import { parseDispatch } from '../jobs/schema.ts';
import { presentExplanation } from './present.ts';

/** /api/route/explain: what would become of a job that is not sent. */
export function routingRoutes(coordinator: Coordinator, config: () => Config, uploads: Uploads): Route[] {
  return [
    {
      method: 'POST',
      path: '/api/route/explain',
      role: 'operator',
      body: jsonBody(uploads, () => config().http.maxBodyBytes),
      handle: ({ query, body }) => {
        parseNothing(query);
        return { json: presentExplanation(coordinator.explainRoute(parseDispatch(body, config()))) };
      },
    },
  ];
}
