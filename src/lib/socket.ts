/** What is used of a WebSocket, so that both ends of one can also be parts of a simulation. One of `ws` satisfies it. */
export interface Socket {
  /** `socketStates`. */
  readonly readyState: number;
  /** Bytes that were sent and that the network has not taken yet. */
  readonly bufferedAmount: number;
  send(text: string): void;
  /** The closing handshake; what was sent before it still arrives. */
  close(code: number, reason: string): void;
  /** The end at once, without a word to the other side. */
  terminate(): void;
  on(event: 'open' | 'ping', listener: () => void): unknown;
  on(event: 'message', listener: (data: unknown, isBinary: boolean) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'close', listener: (code: number, reason: unknown) => void): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/** The values of `readyState`, as in every implementation of the WebSocket API. */
export const socketStates = { connecting: 0, open: 1 } as const;
