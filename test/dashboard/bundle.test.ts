import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { dashboardFolder } from '../../src/http/dashboard.ts';

/** Of all pages together, as they go over the wire to a browser of today. */
const bytesMax = 120 * 1024;

const names = () => readdirSync(dashboardFolder, { recursive: true, encoding: 'utf8' });

test('all pages together are at most 120 KB on their way', (t) => {
  const sent = names().filter((name) => name.endsWith('.br'));
  t.true(sent.length >= 3, `${dashboardFolder} is not built: npm run build`);
  const bytes = sent.reduce((sum, name) => sum + readFileSync(join(dashboardFolder, name)).length, 0);
  t.log(`${Math.round(bytes / 1024)} KB`);
  t.true(bytes <= bytesMax, `${bytes} bytes`);
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
