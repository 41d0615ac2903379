/**
 * The part of a WebSocket that is used, so that both ends can also run in a simulation. The one of `ws` satisfies it.
 */
export interface Socket {
  /** One of `socketStates`. */
  readonly readyState: number;
  /** Bytes that were sent but not yet accepted by the network. */
  readonly bufferedAmount: number;
  send(text: string): void;
  /** Start the closing handshake; what was sent before still arrives. */
  close(code: number, reason: string): void;
  /** End it at once, without notice to the other side. */
  terminate(): void;
  on(event: 'open' | 'ping', listener: () => void): unknown;
  on(event: 'message', listener: (data: unknown, isBinary: boolean) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'close', listener: (code: number, reason: unknown) => void): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/** The values of `readyState`, as in every implementation of the WebSocket API. */
export const socketStates = { connecting: 0, open: 1 } as const;
