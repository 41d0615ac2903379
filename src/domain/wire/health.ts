export interface WireHealth {
  status: 'ok' | 'draining' | 'degraded';
  version: string;
  uptime_seconds: number;
  store: string;
}
