/** `failing`: it cannot write now and retries. `failed`, `closed`: it will not write again. */
export const storeStatuses = ['ok', 'failing', 'failed', 'closed'] as const;
export type StoreStatus = (typeof storeStatuses)[number];

export interface WireHealth {
  status: 'ok' | 'draining' | 'degraded';
  version: string;
  uptime_seconds: number;
  store: StoreStatus;
}
