import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { dashboardFolder } from '../../src/http/dashboard.ts';

/** Of all pages together, as they go over the wire to a browser of today. */
const pagesMax = 100 * 1024;
/** Of what renders Markdown, which only a result in Markdown loads. */
const rendererMax = 40 * 1024;

const names = () => readdirSync(dashboardFolder, { recursive: true, encoding: 'utf8' });
const bytesOf = (sent: string[]) =>
  sent.reduce((sum, name) => sum + readFileSync(join(dashboardFolder, name)).length, 0);

test('all pages together are at most 100 KB on their way, and what renders Markdown comes when it is needed', (t) => {
  const sent = names().filter((name) => name.endsWith('.br'));
  t.true(sent.length >= 4, `${dashboardFolder} is not built: npm run build`);
  const index = readFileSync(join(dashboardFolder, 'index.html'), 'utf8');
  const [renderer, pages] = [true, false].map((is) =>
    sent.filter((name) => name.includes('/markdown-') === is),
  );
  t.is(renderer?.length, 1);
  t.notRegex(index, /markdown-/, 'the first page loads it');
  const [late, first] = [bytesOf(renderer ?? []), bytesOf(pages ?? [])];
  t.log(`${Math.round(first / 1024)} KB and ${Math.round(late / 1024)} KB`);
  t.true(first <= pagesMax && late <= rendererMax, `${first} and ${late} bytes`);
});

test('the build names no other address and makes no script of text', (t) => {
  const scripts = names().filter((name) => name.endsWith('.js'));
  t.true(scripts.length > 0);
  for (const name of scripts) {
    const text = readFileSync(join(dashboardFolder, name), 'utf8');
    t.notRegex(text, /\beval\(|new Function\(|dangerouslySetInnerHTML=/);
    const urls = (text.match(/https?:\/\/[\w.-]+/g) ?? []).filter(
      (url) => !allowed.some((known) => url.startsWith(known)),
    );
    t.deepEqual(urls, [], name);
  }
});

/** Names of XML, and this machine: nothing that is asked. */
const allowed = ['http://www.w3.org', 'https://www.w3.org', 'http://127.0.0.1', 'http://localhost'];
