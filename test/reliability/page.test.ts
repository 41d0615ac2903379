import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import test from 'ava';
import { groups } from './cases.ts';
import { reliabilityPage, shown } from './page.ts';

test('docs/reliability.md is what npm run reliability writes, and every test that it names exists', (t) => {
  const page = readFileSync(resolve(import.meta.dirname, '../../docs/reliability.md'), 'utf8');
  t.is(page, reliabilityPage());
});

test('every case has tests that show it, or a reason why there is nothing to show', (t) => {
  const cases = groups.flatMap((group) => group.cases);
  t.deepEqual(
    cases
      .filter(({ shown: tests, reason }) => (tests === undefined) === (reason === undefined))
      .map(({ id }) => id),
    [],
  );
  const numbers = cases.map(({ id }) => Number(id)).filter((id) => !Number.isNaN(id));
  t.deepEqual(
    numbers,
    Array.from({ length: 75 }, (_, i) => i + 1),
  );
});

test('a test that does not exist is noticed', (t) => {
  t.throws(() => shown('coordinator/lifecycle › a title that nobody gave'), { message: /has no test/ });
  t.throws(() => shown('coordinator/nowhere › anything'), { message: /there is no/ });
});
