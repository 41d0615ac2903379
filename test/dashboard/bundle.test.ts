import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { dashboardFolder } from '../../src/http/dashboard.ts';

/** Of what a browser of today loads before it shows the first page; most pages are in it. */
const firstMax = 100 * 1024;
/** Of what a page loads that few need: Markdown, the machines, webhooks. */
const lateMax = 40 * 1024;

const names = () => readdirSync(dashboardFolder, { recursive: true, encoding: 'utf8' });
const bytesOf = (name: string) => readFileSync(join(dashboardFolder, name)).length;

test('the first page is at most 100 KB on its way, and what few need comes when it is needed', (t) => {
  const sent = names().filter((name) => name.endsWith('.br'));
  t.true(sent.length >= 4, `${dashboardFolder} is not built: npm run build`);
  const index = readFileSync(join(dashboardFolder, 'index.html'), 'utf8');
  const isFirst = (name: string) => name === 'index.html.br' || index.includes(name.replace(/\.br$/, ''));
  const first = sent.filter(isFirst).reduce((sum, name) => sum + bytesOf(name), 0);
  t.log(`${Math.round(first / 1024)} KB`);
  t.true(first <= firstMax, `${first} bytes`);
  const late = sent.filter((name) => name.endsWith('.js.br') && !isFirst(name));
  for (const page of ['markdown', 'machines', 'webhooks']) t.regex(late.join(), new RegExp(page));
  for (const name of late) t.true(bytesOf(name) <= lateMax, `${name} has ${bytesOf(name)} bytes`);
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
