import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Case, type Group, groups } from './cases.ts';

const tests = resolve(import.meta.dirname, '..');

/** A test that a case names. */
export interface Shown {
  /** Below the project's root. */
  file: string;
  title: string;
}

/** The test behind `file › title`. @throws Error when there is none: it was renamed, or never was. */
export function shown(reference: string): Shown {
  const [name = '', ...rest] = reference.split(' › ');
  const title = rest.join(' › ');
  const file = [`${name}.test.ts`, `${name}.ts`].find((path) => existsSync(join(tests, path)));
  if (file === undefined) throw new Error(`there is no test/${name}.test.ts`);
  if (!titlesOf(file).has(title)) throw new Error(`test/${file} has no test "${title}"`);
  return { file: `test/${file}`, title };
}

const known = new Map<string, ReadonlySet<string>>();

/** The titles of the tests of a file, with … for what differs from run to run. `onX` runs where there is an X. */
function titlesOf(file: string): ReadonlySet<string> {
  const cached = known.get(file);
  if (cached !== undefined) return cached;
  const text = readFileSync(join(tests, file), 'utf8');
  const titles = text.matchAll(/\b(?:test|on[A-Z]\w*)(?:\.\w+)?\(\s*(['`])((?:\\.|(?!\1).)*)\1,/gs);
  const plain = (title: string) => title.replaceAll(/\$\{[^}]*\}/g, '…').replaceAll("\\'", "'");
  const found = new Set([...titles].map(([, , title = '']) => plain(title)));
  known.set(file, found);
  return found;
}

/** docs/reliability.md. @throws Error when a case names a test that does not exist. */
export function reliabilityPage(): string {
  const cases = groups.flatMap((group) => group.cases);
  const withTests = cases.filter(({ shown: tests }) => tests !== undefined).length;
  return `${[
    '# Reliability',
    '',
    'The promises of the service and the test that checks each of them, or the reason why none applies. The numbered cases',
    'come from the test suites of other queues. `npm run reliability` generates this page from',
    '`test/reliability/cases.yaml`; a test checks that it is current and that every test it names exists.',
    '',
    `${cases.length} cases: ${withTests} with tests, ${cases.length - withTests} that do not apply.`,
    ...groups.flatMap(sectionOf),
  ].join('\n')}\n`;
}

function sectionOf({ group, cases }: Group): string[] {
  const hasSources = cases.some(({ from }) => from !== undefined);
  const head = hasSources
    ? ['| | case of a peer | what SVC does | tested by |', '|---|---|---|---|']
    : ['| | what SVC does | tested by |', '|---|---|---|'];
  return ['', `## ${group}`, '', ...head, ...cases.map((one) => rowOf(one, hasSources))];
}

function rowOf({ id, from = '', so, shown: tests, reason }: Case, hasSources: boolean): string {
  const proofs = tests?.map(proofOf).join('<br>') ?? `does not apply: ${reason}`;
  const cells = hasSources ? [id, from, so, proofs] : [id, so, proofs];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** A test as the page names it, without the name of what a suite is run on. */
function proofOf(reference: string): string {
  const { file, title } = shown(reference);
  const name = file.replace(/^test\//, '').replace(/(\.test)?\.ts$/, '');
  return `[${name}](../${file}): ${title.replace(/^…: /, '')}`;
}
