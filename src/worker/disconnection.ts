import type { IncomingHttpHeaders } from 'node:http';
import { closeCodes, type ErrorFrame, refusalCodes } from '../domain/workerProtocol.ts';
import { cutText } from '../lib/cutText.ts';
import type { Setback } from './backoff.ts';

/** Why there is no connection, for the log and the operator, and how to retry. */
export interface Disconnection {
  setback: Setback;
  level: 'info' | 'warn' | 'error';
  message: string;
  /** The shortest wait that the coordinator asked for. */
  retryAfterMs?: number;
  /** No wait at all: the connection was closed on purpose. */
  isIntended?: boolean;
}

const refusedKey =
  '401 Unauthorized: Authentication failed: the coordinator refuses the key of this worker. Give it a valid one with the role worker (SVC_API_KEY)';
const retryAfterMsMax = 60_000;

/** Characters of the coordinator's message about a refusal. */
const refusalLengthMax = 1000;

/**
 * @param reason the text of the close frame; shown unchanged, but cut.
 * @param error the last error frame before a welcome; null when there was none.
 */
export function setbackOfClose(
  code: number,
  reason: string,
  name: string,
  error: ErrorFrame | null,
): Disconnection {
  const why = error === null ? '' : cutText(error.message, refusalLengthMax);
  if (code === closeCodes.keyNotAllowed) {
    const message = `the key of this worker does not allow its settings: ${why || reason}`;
    return { setback: 'notAllowed', level: 'error', message };
  }
  if (code === closeCodes.nameTaken && error?.code === refusalCodes.nameTakenByKey) {
    return { setback: 'notAllowed', level: 'error', message: why };
  }
  const said = reason === '' ? '' : `: ${reason.slice(0, 120)}`;
  switch (code) {
    case closeCodes.restarting:
      return { setback: 'lost', level: 'info', message: 'the coordinator is restarting' };
    case closeCodes.goingAway:
      return { setback: 'lost', level: 'info', message: 'the coordinator is shutting down' };
    case closeCodes.tryAgainLater:
      return { setback: 'busy', level: 'warn', message: `the coordinator is busy${said}` };
    case closeCodes.keyRefused:
      return { setback: 'refused', level: 'error', message: refusedKey };
    case closeCodes.noHeartbeat:
      return { setback: 'lost', level: 'warn', message: 'the coordinator received no heartbeat in time' };
    case closeCodes.nameTaken:
      return {
        setback: 'nameTaken',
        level: 'error',
        message: `another live worker has the name ${JSON.stringify(name)}. Give this one another name (--name), or stop the other`,
      };
    case closeCodes.badFrame:
    case closeCodes.policyViolation:
      return {
        setback: 'protocol',
        level: 'error',
        message: `the coordinator did not understand this worker (close code ${code}${said}); are their versions the same?`,
      };
    default:
      return {
        setback: 'lost',
        level: 'warn',
        message: `the connection was lost (close code ${code}${said})`,
      };
  }
}

/** The coordinator answered the upgrade with an HTTP status instead. @param headers of the answer. */
export function setbackOfStatus(status: number, url: URL, headers: IncomingHttpHeaders): Disconnection {
  if (status === 401) return { setback: 'refused', level: 'error', message: refusedKey };
  if (status === 403) {
    const message =
      '403 Forbidden: the key of this worker may not be used by a worker; it needs the role worker';
    return { setback: 'refused', level: 'error', message };
  }
  if (status === 426) {
    const message = `the proxy at ${url.origin} does not pass on the upgrade to a WebSocket (status 426): configure it to pass the headers Upgrade and Connection`;
    return { setback: 'protocol', level: 'error', message };
  }
  if (status === 429 || status === 503) {
    const asked = Number(headers['retry-after'] ?? 0) * 1000;
    const retryAfterMs = asked > 0 ? Math.min(asked, retryAfterMsMax) : 0;
    if (isKeyAtFault(headers)) {
      const message = `${refusedKey}. The coordinator throttles this address because of its refused keys (status ${status})`;
      return { setback: 'refused', level: 'error', message, retryAfterMs };
    }
    return {
      setback: 'busy',
      level: 'warn',
      message: `the coordinator is busy (status ${status})`,
      retryAfterMs,
    };
  }
  if (status === 502 || status === 504) {
    const message = `the proxy at ${url.origin} does not reach the coordinator (status ${status})`;
    return { setback: 'lost', level: 'warn', message };
  }
  const message = `no worker socket at ${url.origin}${url.pathname} (status ${status}): is that the address of a coordinator?`;
  return { setback: 'protocol', level: 'error', message };
}

/** Whether an answer refuses the key, whatever its status: RFC 6750, 3.1. */
function isKeyAtFault(headers: IncomingHttpHeaders): boolean {
  return /\binvalid_token\b/.test(headers['www-authenticate'] ?? '');
}

/**
 * The address of a coordinator's worker socket.
 * @param coordinator http, https, ws or wss; a path before `/ws/worker` (a proxy's prefix) is kept.
 * @throws TypeError for any other address.
 */
export function socketUrl(coordinator: string): URL {
  const url = URL.canParse(coordinator) ? new URL(coordinator) : null;
  const scheme = url && { 'http:': 'ws:', 'https:': 'wss:', 'ws:': 'ws:', 'wss:': 'wss:' }[url.protocol];
  if (!url || !scheme) {
    throw new TypeError(
      `the coordinator's address must be like http://127.0.0.1:7420, not ${JSON.stringify(coordinator)}`,
    );
  }
  const path = url.pathname.replace(/\/+$/, '');
  return new URL(`${scheme}//${url.host}${path.endsWith('/ws/worker') ? path : `${path}/ws/worker`}`);
}
