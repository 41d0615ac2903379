import { createHmac } from 'node:crypto';
import { secretPrefix } from '../domain/webhook.ts';

/**
 * The value of `webhook-signature`, one signature for each secret: https://www.standardwebhooks.com
 * @param seconds the time of this try, epoch seconds. @param body as it is sent, to the byte.
 */
export function signatureOf(id: string, seconds: number, body: string, secrets: readonly string[]): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`;
    })
    .join(' ');
}
