import test from 'ava';
import { editDistance, nearest } from '../../src/lib/nearest.ts';

test('a distance counts inserted, removed, replaced and swapped characters', (t) => {
  const cases: [string, string, number][] = [
    ['', '', 0],
    ['port', 'port', 0],
    ['', 'port', 4],
    ['port', 'prt', 1],
    ['port', 'pport', 1],
    ['port', 'part', 1],
    ['port', 'prot', 1],
    ['kitten', 'sitting', 3],
  ];
  for (const [a, b, distance] of cases) {
    t.is(editDistance(a, b), distance, `${a} ${b}`);
    t.is(editDistance(b, a), distance, `${b} ${a}`);
  }
});

test('the nearest candidate is found when it is near, and none when nothing is', (t) => {
  const keys = ['timeout_seconds', 'max_attempts', 'host', 'port'];
  t.is(nearest('timeout_secnds', keys), 'timeout_seconds');
  t.is(nearest('timeoutSeconds', keys), 'timeout_seconds');
  t.is(nearest('Max-Attempts', keys), 'max_attempts');
  t.is(nearest('prot', keys), 'port');
  t.is(nearest('xyz', keys), null);
  t.is(nearest('a'.repeat(10_000), keys), null);
  t.is(nearest('port', []), null);
});
