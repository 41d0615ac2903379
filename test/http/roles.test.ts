import test from 'ava';
import { type Role, roles } from '../../src/domain/key.ts';
import { routes } from '../../src/http/app.ts';
import { defineRoute } from '../../src/http/route.ts';
import { routing } from '../../src/http/routing.ts';
import { setupApi } from '../support/api.ts';

/** Who may do what is declared for a role; written out, so that the rule itself is tried. */
const mayDo: Record<Role, readonly Role[]> = {
  viewer: ['viewer', 'client', 'operator', 'admin'],
  client: ['client', 'operator', 'admin'],
  operator: ['operator', 'admin'],
  admin: ['admin'],
  worker: ['worker', 'admin'],
  metrics: ['metrics', 'viewer', 'client', 'operator', 'admin'],
};

test('every route of the router answers every role as its declaration says', async (t) => {
  const { api, keys } = await setupApi(t);
  t.true(routes.length > 9);
  for (const { method, path, role: needed } of routes) {
    for (const role of roles) {
      const reply = await api(method, path.replaceAll(/:\w+/g, 'none'), method === 'GET' ? undefined : {}, {
        authorization: `Bearer ${keys[role]}`,
      });
      const where = `${method} ${path} as ${role}: ${reply.status}`;
      if (mayDo[needed].includes(role)) t.false([401, 403].includes(reply.status), where);
      else t.like(reply, { status: 403, json: { code: 'forbidden' } }, where);
    }
  }
});

test('a route without a role is refused at start', async (t) => {
  const { parts } = await setupApi(t);
  const route = defineRoute({
    method: 'GET',
    path: '/x',
    role: 'nobody' as Role,
    name: 'nothing',
    tag: 'Service',
    summary: 'Nothing',
    answers: {},
    handle: () => ({ type: 'text/plain', text: '' }),
  });
  const options = { answers: parts.answers, trustedProxies: () => 0, onRefused: async () => {} };
  t.throws(() => routing([route], parts, options), {
    message: /no role/,
  });
});
