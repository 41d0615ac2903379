import type { Coordinator } from '../../../coordinator/coordinator.ts';
import type { WireProviderList } from '../../../domain/wire/provider.ts';
import { presentProvider } from '../../../present/provider.ts';
import { parseNothing } from '../../query.ts';
import type { Route } from '../../route.ts';

/** /api/providers: list, reset. */
export function providerRoutes(coordinator: Coordinator): Route[] {
  return [
    {
      method: 'GET',
      path: '/api/providers',
      role: 'viewer',
      handle: ({ query }) => {
        parseNothing(query);
        const providers = coordinator.providers().map(presentProvider);
        const list: WireProviderList = { providers, total: providers.length };
        return { json: list };
      },
    },
    {
      method: 'POST',
      path: '/api/providers/:name/reset',
      role: 'operator',
      handle: async ({ params: { name = '' }, query, doer }) => {
        parseNothing(query);
        return { json: presentProvider(await coordinator.resetProvider(name, doer())) };
      },
    },
  ];
}
