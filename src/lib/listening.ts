import { type AddressInfo, createServer, type Server } from 'node:net';

/** How often, and how long after each other, a port that may be about to become free is tried. */
const leavingTries = 50;
const leavingPauseMs = 100;

/** The start of the service is refused for a reason that its operator can fix. */
export class StartRefused extends Error {}

interface Address {
  host: string;
  /** 0: any that is free. */
  port: number;
}

/** Where a server listens. */
interface Listening {
  port: number;
  /** Whether others of this user may listen there too. */
  isShared: boolean;
}

/**
 * Have a server listen.
 * @param mayShare whether other processes are to listen on the port too, where the system can do that.
 * @throws StartRefused.
 */
export async function listen(server: Server, address: Address, mayShare: boolean): Promise<Listening> {
  if (!mayShare) return { port: await listenOn(server, address), isShared: false };
  // Alone first: beside another coordinator that shares the port too, this one would get some of its requests.
  const probe = createServer();
  const port = await whenLeft(() => listenOn(probe, address));
  await new Promise((resolve) => probe.close(resolve));
  try {
    return { port: await listenOn(server, { ...address, port }, true), isShared: true };
  } catch (error) {
    if (codeOf(error) !== 'ENOTSUP') throw error;
    return { port: await listenOn(server, { ...address, port }), isShared: false };
  }
}

/** Try again for five seconds: the fronts of a coordinator that was just killed end a moment after it. */
async function whenLeft(tryToListen: () => Promise<number>): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await tryToListen();
    } catch (error) {
      if (codeOf(error) !== 'EADDRINUSE' || tries === leavingTries) throw error;
      await new Promise<void>((resolve) => setTimeout(resolve, leavingPauseMs));
    }
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof StartRefused && error.cause instanceof Error && 'code' in error.cause
    ? String(error.cause.code)
    : undefined;
}

/** @returns the port. @throws StartRefused. */
function listenOn(server: Server, address: Address, reusePort = false): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const onError = (error: NodeJS.ErrnoException): void => {
    reject(new StartRefused(cannotListen(error, address), { cause: error }));
  };
  server.once('error', onError);
  server.listen({ host: address.host, port: address.port, reusePort }, () => {
    server.off('error', onError);
    resolve((server.address() as AddressInfo).port);
  });
  return promise;
}

function cannotListen({ code, message }: NodeJS.ErrnoException, { host, port }: Address): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is taken, perhaps by another coordinator. Choose another one with --port or SVC_PORT.`;
    case 'EACCES':
      return `This user may not listen on port ${port}. Choose one above 1023 with --port or SVC_PORT.`;
    case 'EADDRNOTAVAIL':
      return `This machine has no address ${host}. Fix host, --host or SVC_HOST.`;
    default:
      return `It cannot listen on ${host}, port ${port}: ${message}`;
  }
}
