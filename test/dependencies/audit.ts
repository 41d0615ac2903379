import { spawnSync } from 'node:child_process';

/** What `npm audit --json` says, as far as it is looked at. */
interface Report {
  vulnerabilities?: Record<string, { severity: string; range: string }>;
}

const auditMs = 60_000;
/** What is worth stopping for; the rest is told. */
const stopping = ['high', 'critical'];

export type Audit = { kind: 'unreachable'; why: string } | { kind: 'done'; told: string[]; faults: string[] };

/** Ask the registry for known faults of what users install. Many registries and machines without a network have no answer. */
export function audit(root: string): Audit {
  const { stdout, error } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
    cwd: root,
    encoding: 'utf8',
    timeout: auditMs,
  });
  if (error !== undefined) return { kind: 'unreachable', why: error.message };
  return readAudit(stdout);
}

/** @param text of `npm audit --json`. */
export function readAudit(text: string): Audit {
  let report: unknown;
  try {
    report = JSON.parse(text);
  } catch {
    return { kind: 'unreachable', why: 'npm audit gave no JSON' };
  }
  const { vulnerabilities } = (report ?? {}) as Report;
  if (vulnerabilities === undefined) return { kind: 'unreachable', why: 'the registry answers no audits' };
  const lines = Object.entries(vulnerabilities).map(([name, { severity, range }]) => ({
    severity,
    line: `${name} ${range}: ${severity}`,
  }));
  return {
    kind: 'done',
    told: lines.map(({ line }) => line),
    faults: lines.filter(({ severity }) => stopping.includes(severity)).map(({ line }) => line),
  };
}
