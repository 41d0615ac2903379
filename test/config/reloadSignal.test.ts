import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { temporaryFolder } from '../support/folder.ts';
import { adminKey, SvcProcess } from '../support/process.ts';

test('SIGHUP reads the file again: a good one is in force, a bad one is told in the log and changes nothing', async (t) => {
  const cwd = temporaryFolder(t);
  const file = join(cwd, 'my.yaml');
  await writeFile(file, 'port: 0\n');
  const svc = new SvcProcess(['coordinator', '--config', 'my.yaml'], { cwd, env: { SVC_API_KEY: adminKey } });
  t.teardown(() => svc.kill());
  const [, url] = await svc.says(/ready at (\S+)/);

  await writeFile(file, 'port: 0\njobs: { max_attempts: 7 }\n');
  svc.signal('SIGHUP');
  await svc.says(/"changed":\[\{"key":"jobs.max_attempts","from":3,"to":7\}\]/);

  await writeFile(file, 'port: 0\njobs: { max_attempt: 8 }\n');
  svc.signal('SIGHUP');
  await svc.says(/my\.yaml:2: jobs\.max_attempt: unknown key, did you mean max_attempts\?/);
  const response = await fetch(`${url}/api/config`, { headers: { authorization: `Bearer ${adminKey}` } });
  t.like(await response.json(), { config: { jobs: { max_attempts: 7 } } });
  svc.signal('SIGTERM');
  t.is((await svc.exited).code, 0);
});
