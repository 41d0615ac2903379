import { join } from 'node:path';
import test from 'ava';
import { readAudit } from './audit.ts';
import { checkLicences, isPermissive, licenceOf } from './licences.ts';

test('whatever users install is under a permissive licence', (t) => {
  const { count, faults } = checkLicences(join(import.meta.dirname, '../..'));
  t.true(count > 50);
  t.deepEqual(faults, []);
});

test('an expression is permissive when one of its choices is, with all that belongs to it', (t) => {
  for (const good of ['MIT', '(MIT OR GPL-3.0-only)', 'GPL-2.0-only OR BSD-3-Clause', 'MIT AND ISC'])
    t.true(isPermissive(good), good);
  for (const bad of [
    '',
    'GPL-3.0-only',
    'MIT AND GPL-3.0-only',
    'SEE LICENSE IN x',
    'UNLICENSED',
    '((MIT))x',
  ])
    t.false(isPermissive(bad), bad);
  t.is(licenceOf({ licenses: [{ type: 'MIT' }, { type: 'GPL-3.0-only' }] }), 'MIT OR GPL-3.0-only');
  t.is(licenceOf({}), '');
});

test('an audit that cannot be made says so, and is no fault; a high finding is one', (t) => {
  t.is(readAudit('').kind, 'unreachable');
  t.is(readAudit('{"error":{"code":"ENOAUDIT"}}').kind, 'unreachable');
  t.like(readAudit('{"vulnerabilities":{}}'), { kind: 'done', faults: [] });
  const found = readAudit(
    '{"vulnerabilities":{"a":{"severity":"low","range":"<2"},"b":{"severity":"high","range":"*"}}}',
  );
  t.deepEqual(found, { kind: 'done', told: ['a <2: low', 'b *: high'], faults: ['b *: high'] });
});
