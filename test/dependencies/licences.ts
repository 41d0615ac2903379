import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Licences that let anybody use, change and pass on what is built with them, under terms of their own (SPDX names). */
const permissive = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
]);

/** As much of package-lock.json (version 3) as is looked at. */
interface Lock {
  packages: Record<string, { dev?: boolean; devOptional?: boolean; optional?: boolean; license?: string }>;
}

/**
 * Whether an SPDX expression leaves a permissive choice: every part of an AND, any part of an OR. What cannot be read is
 * not permissive.
 */
export function isPermissive(expression: string): boolean {
  const plain = expression.trim().replace(/^\((.*)\)$/s, '$1');
  if (/[()]/.test(plain)) return false;
  return plain
    .split(/\s+OR\s+/)
    .some((choice) => choice.split(/\s+AND\s+/).every((name) => permissive.has(name)));
}

/**
 * What users of the coordinator install: every package that is not for development alone, by what its own package.json
 * says.
 * @returns how many were looked at, and those whose licence is not permissive.
 */
export function checkLicences(root: string): { count: number; faults: string[] } {
  const lock: Lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const production = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  const faults = production.flatMap(([path, { optional, license: locked }]) => {
    const file = join(root, path, 'package.json');
    // Packages of other platforms are not here; of those the lockfile tells.
    const isHere = existsSync(file);
    if (!isHere && optional !== true) return [`${path}: is not installed`];
    const licence = isHere ? licenceOf(JSON.parse(readFileSync(file, 'utf8'))) : (locked ?? '');
    return isPermissive(licence) ? [] : [`${path}: ${licence === '' ? 'names no licence' : licence}`];
  });
  return { count: production.length, faults };
}

/** `license`, or the older `licenses: [{type}]`. */
export function licenceOf(manifest: { license?: unknown; licenses?: unknown }): string {
  const { license, licenses } = manifest;
  if (typeof license === 'string') return license;
  const listed = Array.isArray(licenses) ? licenses : [license];
  const types = listed.flatMap((one: unknown) =>
    typeof one === 'object' && one !== null && 'type' in one && typeof one.type === 'string'
      ? [one.type]
      : [],
  );
  return types.join(' OR ');
}
