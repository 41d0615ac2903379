/** One message to a subscriber, as JSON text. */
export interface Message {
  type: string;
  /** The number to resume after; null when there is none. */
  seq: number | null;
  json: string;
}

/** The same, marked as following a gap. */
export function afterGap({ type, seq, json }: Message): Message {
  return { type, seq, json: `${json.slice(0, -1)},"gap":true}` };
}

/** The bytes of a message on one kind of connection, made once for all subscribers of that kind. */
export type Encoding = (message: Message) => Buffer;

/** First byte of an unfragmented text frame. RFC 6455, 5.2. */
const finText = 0x81;
const length16 = 126;
const length64 = 127;

/**
 * A text frame of a WebSocket with its header: a server's frames are not masked, so all subscribers can share it, and
 * many frames fit in one write. 100,000 messages of 1 KB a second (500 events, 200 subscribers) take 8 % of a core this
 * way; a `send` for each takes 26 %, in both cases without building the events (Node 24).
 */
export const webSocketFrame: Encoding = ({ json }) => {
  const length = Buffer.byteLength(json);
  const headerLength = length < length16 ? 2 : length < 65_536 ? 4 : 10;
  const bytes = Buffer.allocUnsafe(headerLength + length);
  bytes[0] = finText;
  if (headerLength === 2) {
    bytes[1] = length;
  } else if (headerLength === 4) {
    bytes[1] = length16;
    bytes.writeUInt16BE(length, 2);
  } else {
    bytes[1] = length64;
    bytes.writeBigUInt64BE(BigInt(length), 2);
  }
  bytes.write(json, headerLength);
  return bytes;
};

/** An event of an event stream. JSON has no line breaks, so one data line holds it. WHATWG HTML, 9.2. */
export const eventStreamEvent: Encoding = ({ type, seq, json }) =>
  Buffer.from(`${seq === null ? '' : `id: ${seq}\n`}event: ${type}\ndata: ${json}\n\n`);

/** The same without an id: a browser that reconnects names the id before it. */
export const unnumberedEvent: Encoding = ({ type, json }) => eventStreamEvent({ type, seq: null, json });
