import test from 'ava';
import { startCoordinator } from '../support/process.ts';

test('the embedded worker dials its own machine, whatever the world calls the coordinator', async (t) => {
  const { client } = await startCoordinator(t, {
    config: { public_url: 'https://svc.invalid' },
    args: ['--with-echo-worker'],
  });
  const { id } = await client.dispatch({ prompt: 'Say hello', provider: 'echo' });
  t.is((await client.waitFor(id)).status, 'completed');
});
