import type { ServedRoute } from '../../http/route.ts';
import type { Catalogues } from './models.ts';
import { defineDoorRoute } from './route.ts';

/** GET /v1/models and /v1/models/{id}, whose id may have slashes. */
export function modelRoutes(catalogues: Catalogues): readonly ServedRoute[] {
  const listModels = defineDoorRoute({
    method: 'GET',
    path: '/v1/models',
    role: 'viewer',
    handle: async (_request, { coordinator, config, clock }) => {
      const catalogue = await catalogues.fresh(coordinator, config(), clock.monotonic());
      return { json: { object: 'list', data: catalogue.list() } };
    },
  });
  const getModel = defineDoorRoute({
    method: 'GET',
    path: '/v1/models/*model',
    role: 'viewer',
    handle: async ({ params: { model = '' } }, { coordinator, config, clock }) => {
      const catalogue = await catalogues.fresh(coordinator, config(), clock.monotonic());
      return { json: catalogue.find(model) };
    },
  });
  return [listModels, getModel];
}
