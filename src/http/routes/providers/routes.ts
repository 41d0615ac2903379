import { presentProvider } from '../../../present/provider.ts';
import { defineRoute, type Route } from '../../route.ts';
import { providerListShape, providerShape } from './shape.ts';

const listProviders = defineRoute({
  method: 'GET',
  path: '/api/providers',
  role: 'viewer',
  name: 'listProviders',
  tag: 'Routing',
  summary: 'List the providers',
  description: 'Those that are configured, served by a connected worker, or have run a job.',

  answers: {
    200: { description: 'Every provider.', shape: providerListShape },
  },

  handle: (_, { coordinator }) => {
    const providers = coordinator.providers().map(presentProvider);
    return { json: { providers, total: providers.length } };
  },
});

const resetProvider = defineRoute({
  method: 'POST',
  path: '/api/providers/:name/reset',
  role: 'operator',
  name: 'resetProvider',
  tag: 'Routing',
  summary: 'Make a provider available again',
  description:
    'Ends a wait after 429 or an open circuit breaker at once, for instance after its quota was raised. Recorded failures are cleared.',

  params: { name: { schema: { type: 'string' }, example: 'openai' } },
  answers: {
    200: { description: 'The provider.', shape: providerShape },
  },
  problems: ['NotFound', 'StoreUnavailable'],

  handle: async ({ params: { name }, doer }, { coordinator }) => ({
    json: presentProvider(await coordinator.resetProvider(name, doer())),
  }),
});

export const providerRoutes: readonly Route[] = [listProviders, resetProvider];
