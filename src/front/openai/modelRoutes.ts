import type { ServedRoute } from '../../http/route.ts';
import { integer, literal, named, object, text } from '../../http/shape/shape.ts';
import type { Catalogues, WireModel } from './models.ts';
import { defineDoorRoute } from './route.ts';

const modelShape = named(
  'Model',
  object<WireModel>({
    id: text(),
    object: literal('model'),
    created: integer('Epoch seconds; 0 when nobody knows.'),
    owned_by: text('Its provider.'),
  }),
);

const listSchema = {
  type: 'object',
  required: ['object', 'data'],
  properties: { object: { const: 'list' }, data: { type: 'array', items: modelShape.schema } },
  additionalProperties: false,
};

/** GET /v1/models and /v1/models/{id}, whose id may have slashes. */
export function modelRoutes(catalogues: Catalogues): readonly ServedRoute[] {
  const listModels = defineDoorRoute({
    method: 'GET',
    path: '/v1/models',
    role: 'viewer',
    document: {
      name: 'listModels',
      tag: 'Models',
      summary: 'List the models that can be asked for',
      answers: {
        200: { description: 'All of them; `auto` first.', content: { 'application/json': listSchema } },
      },
    },
    handle: async (_request, { coordinator, config, clock }) => {
      const catalogue = await catalogues.fresh(coordinator, config(), clock.monotonic());
      return { json: { object: 'list', data: catalogue.list() } };
    },
  });
  const getModel = defineDoorRoute({
    method: 'GET',
    path: '/v1/models/*model',
    role: 'viewer',
    document: {
      name: 'getModel',
      tag: 'Models',
      summary: 'Read a model',
      params: {
        model: {
          schema: { type: 'string' },
          example: 'ollama/qwen3:8b',
          description: 'It may have slashes, as they are or as `%2F`.',
        },
      },
      answers: { 200: { description: 'The model.', content: { 'application/json': modelShape.schema } } },
    },
    handle: async ({ params: { model = '' } }, { coordinator, config, clock }) => {
      const catalogue = await catalogues.fresh(coordinator, config(), clock.monotonic());
      return { json: catalogue.find(model) };
    },
  });
  return [listModels, getModel];
}
