import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { messageOf } from '../../src/domain/errors.ts';
import { answerTo } from '../support/e2eHttp.ts';
import { temporaryFolder } from '../support/folder.ts';
import { freePort, spawnCoordinator, startCoordinator, until } from '../support/process.ts';

/** Descriptors that a process has in the tests; it needs some thirty to run at all. */
const descriptors = 64;

/** A file system that can be read only, gone when the test ends. @returns null and the reason where it may not be mounted. */
function readOnlyDisk(t: ExecutionContext): { folder: string } | { reason: string } {
  const folder = temporaryFolder(t);
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro,size=1m', 'tmpfs', folder], { stdio: 'pipe' });
  } catch (error) {
    return { reason: messageOf(error) };
  }
  t.teardown(() => execFileSync('umount', [folder]));
  return { folder };
}

async function refusal(t: ExecutionContext, folder: string): Promise<string> {
  const svc = spawnCoordinator(t, { folder, port: await freePort() });
  t.deepEqual(await svc.exited, { code: 1, signal: null });
  return svc.err;
}

test.serial('a place where no data can be is refused with code 1, and what to do', async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'file'), '');
  const isFile = await refusal(t, join(folder, 'file'));
  t.regex(isFile, /file cannot be used for the data: EEXIST.*--data-dir/);
  t.regex(await refusal(t, join(folder, 'file', 'below')), /below cannot be used for the data: ENOTDIR/);
  // Node's own recursive mkdir never ends there.
  t.regex(await refusal(t, '/proc/svc/data'), /cannot be used for the data: /);
});

test.serial('a read-only file system is refused with code 1, and said to be one', async (t) => {
  const disk = readOnlyDisk(t);
  if ('reason' in disk) {
    t.log(`not tried, mounting needs root: ${disk.reason}`);
    t.pass();
    return;
  }
  t.regex(
    await refusal(t, join(disk.folder, 'data')),
    /cannot be used for the data: EROFS: read-only file system/,
  );
  t.regex(await refusal(t, disk.folder), /cannot be used for the data: EROFS: read-only file system/);
});

test.serial(
  'a coordinator without descriptors goes on, and is back to normal when it has some again',
  async (t) => {
    const { port, process: svc, client } = await startCoordinator(t, { descriptors });
    const before = await client.dispatch({ prompt: 'Before', provider: 'nobody' });
    const sockets: Socket[] = [];
    t.teardown(() => {
      for (const socket of sockets) socket.destroy();
    });
    for (let i = 0; i < 2 * descriptors; i += 1) {
      const socket = connect(port, '127.0.0.1');
      // Refused, or reset: what a process without descriptors does to whoever comes.
      socket.on('error', () => {});
      sockets.push(socket);
    }
    const isOver = ({ destroyed, readyState }: Socket) => destroyed || readyState !== 'opening';
    await until('every connection has met its fate', () => sockets.every(isOver));
    for (const socket of sockets) socket.destroy();
    await until('it answers again', async () => {
      try {
        return (await answerTo(port, { path: '/health' })).status === 200;
      } catch {
        return false;
      }
    });
    t.is(svc.exit, null);
    t.is((await client.job(before.id)).status, 'pending');
    t.is((await client.dispatch({ prompt: 'After', provider: 'nobody' })).status, 'pending');
  },
);

test.serial(
  'a coordinator whose memory its jobs fill takes no more of them, lives, and starts again',
  async (t) => {
    const options = { env: { NODE_OPTIONS: '--max-old-space-size=112' } };
    const coordinator = await startCoordinator(t, options);
    const batch = Array.from({ length: 100 }, () => ({ prompt: 'word '.repeat(5_000), provider: 'echo' }));
    let held = 0;
    const refusal = await until(
      () => `a batch is refused; ${held} jobs were taken: ${coordinator.process.said()}`,
      async () => {
        try {
          held += (await coordinator.client.dispatchBatch(batch)).jobs.length;
          return null;
        } catch (error) {
          return error;
        }
      },
    );
    t.like(refusal, { status: 429, code: 'queue_full' });
    await coordinator.process.says(/jobs fill the memory.*max-old-space-size/);
    await coordinator.process.kill();
    const { client } = await coordinator.again();
    t.is((await client.jobs({ limit: 1 })).total, held);
  },
);
