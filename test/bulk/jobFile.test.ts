import { createReadStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { checkJobFile } from '../../src/bulk/jobFile.ts';
import { openSource } from '../../src/bulk/source.ts';
import { compileTemplate } from '../../src/bulk/template.ts';
import { IdTable } from '../../src/lib/idTable.ts';
import { temporaryFolder } from '../support/folder.ts';
import { itemsOf, jobFileWith, promptsOf, sourceWith } from './sources.ts';

const signal = new AbortController().signal;

test('a line without an id has one made of its number and content', async (t) => {
  const idsOf = async (text: string) =>
    (await itemsOf(await jobFileWith(t, 'a.txt', text))).map((item) => 'id' in item && item.id);
  const [one, two, three] = await idsOf('same\nsame\nother');
  t.regex(String(one), /^1-[0-9a-f]{12}$/);
  t.regex(String(two), /^2-[0-9a-f]{12}$/);
  t.deepEqual(await idsOf('same\nsame\nother\nmore').then((ids) => ids.slice(0, 3)), [one, two, three]);
  t.not((await idsOf('changed\nsame'))[0], one);
});

test('all faults of a file are told at once, the first ten by name', async (t) => {
  const text = Array.from({ length: 14 }, (_, index) => (index === 3 ? '{"prompt": "fine"}' : '{')).join(
    '\n',
  );
  const error = await t.throwsAsync(checkJobFile(await jobFileWith(t, 'a.ndjson', text), signal));
  const lines = error.message.split('\n');
  t.is(lines[0], 'a.ndjson:1: is not valid JSON');
  t.is(lines.length, 11);
  t.is(lines[10], 'and 3 more');
});

test('an id that comes twice is a fault that names both lines', async (t) => {
  const text = 'id,p\na,1\nb,2\na,3\n';
  const file = await jobFileWith(t, 'a.csv', text, { promptColumn: 'p', idColumn: 'id' });
  await t.throwsAsync(checkJobFile(file, signal), { message: 'a.csv:4: has the id "a", as line 2 has' });
  const long = JSON.stringify({ custom_id: 'x'.repeat(256), prompt: 'p' });
  await t.throwsAsync(checkJobFile(await jobFileWith(t, 'a.ndjson', long), signal), {
    message: /more than 255/,
  });
});

test('a table of ids knows every id again, also after it has grown', (t) => {
  const table = new IdTable();
  for (let line = 1; line <= 5_000; line += 1) t.is(table.add(`id-${line}`, line), null);
  for (const line of [1, 700, 5_000]) t.is(table.add(`id-${line}`, 9_999), line);
});

test('what is no text in UTF-8 is named', async (t) => {
  const refused = async (name: string, content: Buffer, message: RegExp) => {
    const reading = async () =>
      checkJobFile(await jobFileWith(t, name, content, { promptColumn: undefined }), signal);
    await t.throwsAsync(reading, { message });
  };
  await refused('a.txt', Buffer.from('\ufeffhello', 'utf16le'), /not UTF-8 but UTF-16.*iconv/);
  await refused('a.txt', Buffer.from('hello', 'utf16le'), /not UTF-8/);
  await refused('a.txt', Buffer.from('fine\nGr\u00fc\u00dfe', 'latin1'), /a\.txt:2: is not UTF-8/);
  await refused('a.csv', Buffer.from('prompt\nfine\nGr\u00fc\u00dfe', 'latin1'), /a\.csv:3: is not UTF-8/);
  await refused('a.csv', Buffer.from('PK\u0003\u0004'), /save it as CSV/);
  await refused('a.txt', Buffer.from(''), /is empty/);
  await refused('a.txt', Buffer.from(' \n\n'), /contains no jobs/);
  await refused('a.csv', Buffer.from('prompt\n'), /contains no jobs/);
});

test('characters that end in another piece of the file stay whole', async (t) => {
  const cell = 'ü😀'.repeat(300_000);
  const source = await sourceWith(t, 'a.csv', `\ufeffprompt\n${cell}\n`);
  let text = '';
  for await (const piece of source.pieces()) text += piece.toString('utf8');
  t.is(text, `prompt\n${cell}\n`);
});

test('standard input is kept in a file that is gone afterwards; a missing file and a folder are named', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'in'), 'one\ntwo\n');
  const source = await openSource('-', { cwd, stdin: createReadStream(join(cwd, 'in')) });
  t.is(source.name, 'standard input');
  await source.close();
  await t.throwsAsync(openSource(source.path, { cwd, stdin: createReadStream(join(cwd, 'in')) }), {
    message: /does not exist/,
  });
  await t.throwsAsync(openSource('.', { cwd, stdin: createReadStream(join(cwd, 'in')) }), {
    message: /folder/,
  });
});

test('a template takes the cells of its columns', async (t) => {
  const header = ['title', 'Body text'];
  t.is(
    compileTemplate('{{title}}: {{ Body text }}{{title}}!', header)(['$&', '{{title}}']),
    '$&: {{title}}$&!',
  );
  t.throws(() => compileTemplate('{{titel}}', header), {
    message: /did you mean title\? The columns are: title, /,
  });
  t.throws(() => compileTemplate('plain', header), { message: /names no column/ });
  const file = await jobFileWith(t, 'a.csv', 'a\tb\n', { format: 'tsv', template: '{{b}}' });
  t.deepEqual(await promptsOf(file), []);
});
