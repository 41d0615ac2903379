import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { freePort } from '../support/freePort.ts';
import type { Bench } from '../support/scenario.ts';
import { askPort, findProgram, owner, type Server, serverFolder, startServer } from './server.ts';

/**
 * Redis with the append-only file that BullMQ's guide asks for, and `noeviction`, which it calls a must. No snapshots
 * beside it (`save ''`), which its guide does not ask for and which only cost.
 * @param fsync `always`: before each answer, as we do. `everysec`: up to a second of acknowledged jobs may be lost.
 */
export async function startRedis(bench: Bench, fsync: 'always' | 'everysec'): Promise<Server> {
  const program = findProgram('redis-server');
  const folder = serverFolder(bench);
  const port = await freePort();
  const settings = {
    port,
    bind: '127.0.0.1',
    dir: folder,
    appendonly: 'yes',
    appendfsync: fsync,
    save: '',
    'maxmemory-policy': 'noeviction',
    daemonize: 'no',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  return startServer(bench, {
    name: 'Redis',
    url: (at) => `redis://127.0.0.1:${at}`,
    folder,
    port,
    command: [program, ...flags],
    // While it loads its data it answers -LOADING.
    ask: async (at) => (await askPort(at, Buffer.from('PING\r\n'))).toString().startsWith('+PONG'),
    endSignal: 'SIGKILL',
  });
}

/** Beyond PostgreSQL's defaults: memory that a database of its own would be given, and fewer checkpoints. */
const postgresSettings = {
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  max_connections: 200,
  synchronous_commit: 'on',
  listen_addresses: '127.0.0.1',
};

/** PostgreSQL that answers a commit when its log is on the disk (`synchronous_commit = on`, `fsync` as it is by default). */
export async function startPostgres(bench: Bench): Promise<Server> {
  const program = findProgram('postgres');
  const folder = serverFolder(bench);
  const data = join(folder, 'data');
  const port = await freePort();
  const init = ['-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--locale', 'C', '--no-sync'];
  execFileSync(findProgram('initdb'), init, { cwd: folder, stdio: 'pipe', ...owner() });
  const settings = { ...postgresSettings, port, unix_socket_directories: folder };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return startServer(bench, {
    name: 'PostgreSQL',
    url: (at) => `postgres://bench@127.0.0.1:${at}/postgres`,
    folder,
    port,
    command: [program, '-D', data, ...flags],
    ask: async (at) => isPostgresReady(await askPort(at, startupMessage)),
    // The fast shutdown: it does not wait for clients.
    endSignal: 'SIGINT',
  });
}

/** Protocol 3.0: length, version, then name and value pairs, each ended by a zero byte (postgresql.org, "Message Formats"). */
const startupMessage = (() => {
  const words = ['user', 'bench', 'database', 'postgres', ''].map((word) => `${word}\0`).join('');
  const message = Buffer.alloc(8 + Buffer.byteLength(words));
  message.writeInt32BE(message.length, 0);
  message.writeInt32BE(3 << 16, 4);
  message.write(words, 8);
  return message;
})();

/** `R`: authentication, so it takes connections; while it starts or recovers it answers `E`. */
function isPostgresReady(answer: Buffer): boolean {
  return answer.length > 0 && answer[0] === 'R'.charCodeAt(0);
}
