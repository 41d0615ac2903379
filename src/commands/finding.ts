/** One check of `svc doctor`. */
export interface Finding {
  /** `fault`: something does not work. `warning`: it works, but is probably not intended. */
  level: 'ok' | 'warning' | 'fault';
  title: string;
  detail: string;
  /** A command or setting that fixes it. */
  fix: string | null;
}

export const ok = (title: string, detail: string): Finding => ({ level: 'ok', title, detail, fix: null });
export const warning = (title: string, detail: string, fix: string): Finding => ({
  level: 'warning',
  title,
  detail,
  fix,
});
export const fault = (title: string, detail: string, fix: string): Finding => ({
  level: 'fault',
  title,
  detail,
  fix,
});
