import { connect, type Socket } from 'node:net';
import { liveSubprotocol } from '../../src/domain/liveProtocol.ts';

const headEnd = '\r\n\r\n';
/** RFC 6455, 5.2: the first byte of a whole text frame; the bit of a frame that is masked. */
const wholeText = 0x81;
const masked = 0x80;
const lengthMax = 125;

/**
 * A subscriber of `/ws` that takes what it is sent and looks at none of it, so that 200 of them are no load of their own:
 * what they cost is what the coordinator spends on them.
 */
export class LeanSubscriber {
  readonly #socket: Socket;
  #bytes = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Connect and subscribe; resolves when the first bytes after the handshake are here. */
  static connect(url: string, apiKey: string, topic: string): Promise<LeanSubscriber> {
    const { hostname, port, host } = new URL(url);
    return new Promise((resolve, reject) => {
      let head = '';
      // One buffer for all that comes: nothing of it is kept.
      const onread = {
        buffer: Buffer.allocUnsafe(64 * 1024),
        callback: (bytes: number, buffer: Uint8Array) => {
          subscriber.#bytes += bytes;
          if (head.includes(headEnd)) return true;
          head += Buffer.from(buffer.subarray(0, bytes)).toString('latin1');
          if (!head.includes(headEnd)) return true;
          if (!head.startsWith('HTTP/1.1 101 '))
            reject(new Error(`the upgrade was answered: ${head.slice(0, 40)}`));
          socket.write(textFrame(JSON.stringify({ type: 'subscribe', topics: [topic] })));
          resolve(subscriber);
          return true;
        },
      };
      const socket = connect({ host: hostname, port: Number(port), onread }, () => {
        const key = Buffer.alloc(16, 1).toString('base64');
        const lines = [
          'GET /ws HTTP/1.1',
          `Host: ${host}`,
          'Connection: Upgrade',
          'Upgrade: websocket',
          'Sec-WebSocket-Version: 13',
          `Sec-WebSocket-Key: ${key}`,
          `Sec-WebSocket-Protocol: ${liveSubprotocol}`,
          `Authorization: Bearer ${apiKey}`,
        ];
        socket.write(lines.join('\r\n') + headEnd);
      });
      const subscriber = new LeanSubscriber(socket);
      socket.once('error', reject);
    });
  }

  /** What it was sent so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Read nothing more; the connection stays. */
  stopReading(): void {
    this.#socket.pause();
  }

  /** Resolves when the coordinator has cut it off. Something has to be written: who reads nothing hears of no end. */
  async cutOff(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#socket.on('error', () => resolve());
    this.#socket.once('close', () => resolve());
    const ping = textFrame(JSON.stringify({ type: 'ping' }));
    const timer = setInterval(() => this.#socket.write(ping), 250);
    await promise;
    clearInterval(timer);
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** A frame as clients send it; a mask of zeros changes nothing. */
function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  if (payload.length > lengthMax) throw new Error(`a frame of ${payload.length} bytes needs a longer header`);
  return Buffer.concat([Buffer.from([wholeText, masked | payload.length, 0, 0, 0, 0]), payload]);
}
