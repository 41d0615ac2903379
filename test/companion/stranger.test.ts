import { createServer } from 'node:http';
import test from 'ava';
import { SvcProcess } from '../support/process.ts';
import { emptyHome, startCompanion } from './companion.ts';

test('whoever takes the port of a companion that was killed is neither asked nor believed', async (t) => {
  const home = emptyHome(t);
  const companion = await startCompanion(t, home);
  await companion.process.kill();
  const asked: (string | undefined)[] = [];
  const stranger = createServer(({ url }, response) => {
    asked.push(url);
    response.setHeader('content-type', 'application/json').end('{"link":"http://127.0.0.1:1/"}');
  });
  t.teardown(() => stranger.close());
  const { port } = new URL(companion.contact.url);
  await new Promise<void>((resolve) => stranger.listen(Number(port), '127.0.0.1', resolve));
  for (const command of ['status', 'open', 'stop']) {
    const svc = new SvcProcess(['companion', command], { cwd: home.folder, env: home.env });
    t.is((await svc.exited).code, 5, svc.said());
    t.regex(svc.err, /the companion is not running/);
  }
  t.deepEqual(asked, []);
});
