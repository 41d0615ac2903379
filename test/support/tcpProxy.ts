import { connect, createServer, type Server, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import { freePort } from './process.ts';

/** A direction of a connection: what the worker says, or what the coordinator says. */
export type Direction = 'up' | 'down';

/** One connection through the proxy. */
interface Pipe {
  client: Socket;
  server: Socket;
  /** Directions in which bytes vanish, for ever: TCP on both sides believes that they arrived. */
  swallowed: Set<Direction>;
}

/**
 * The network between a worker and a coordinator, to be troubled by hand: it delays, cuts, and swallows what one side
 * says without either being told (a half-open connection).
 */
export class TcpProxy {
  /** Bytes wait for so long in each direction, ms. */
  delayMs = 0;
  /** New connections are broken at once. */
  refuses = false;
  /** Connections that were made. */
  count = 0;
  readonly port: number;
  readonly #server: Server;
  readonly #pipes = new Set<Pipe>();

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  /** A proxy to a port of this machine; it is closed with the test. */
  static async to(t: ExecutionContext, target: number): Promise<TcpProxy> {
    const port = await freePort();
    const server = createServer((client) => proxy.#accept(client, target));
    const proxy = new TcpProxy(server, port);
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    t.teardown(() => proxy.close());
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Connections that are open. */
  get open(): number {
    return this.#pipes.size;
  }

  /** From now on what one side says on the connections that are open gets nowhere. New connections are well. */
  swallow(direction: Direction): void {
    for (const { swallowed } of this.#pipes) swallowed.add(direction);
  }

  /** Break every connection that is open, both sides are told. */
  cut(): void {
    for (const { client, server } of this.#pipes) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #accept(client: Socket, target: number): void {
    if (this.refuses) {
      client.on('error', () => {});
      client.resetAndDestroy();
      return;
    }
    this.count += 1;
    const server = connect(target, '127.0.0.1');
    const pipe: Pipe = { client, server, swallowed: new Set() };
    this.#pipes.add(pipe);
    this.#carry(pipe, 'up', client, server);
    this.#carry(pipe, 'down', server, client);
  }

  #carry(pipe: Pipe, direction: Direction, from: Socket, to: Socket): void {
    const later = (task: () => void) => {
      // A timer keeps the order: those of one length run in the order in which they were set.
      if (this.delayMs === 0) task();
      else setTimeout(task, this.delayMs);
    };
    from.on('data', (bytes) => {
      if (pipe.swallowed.has(direction)) return;
      later(() => {
        if (!to.destroyed) to.write(bytes);
      });
    });
    from.on('error', () => {
      // A reset: 'close' follows.
    });
    from.on('close', () => {
      this.#pipes.delete(pipe);
      if (pipe.swallowed.has(direction)) return;
      later(() => to.destroy());
    });
  }
}
