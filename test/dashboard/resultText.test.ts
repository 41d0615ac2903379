import test from 'ava';
import fc from 'fast-check';
import { formOf, prettyJson } from '../../src/dashboard/pages/job/textForm.ts';
import { faultsOf, overflowOf, pageTests } from './support/browser.ts';
import type { Site } from './support/site.ts';

test('JSON is indented and nothing in it changes', (t) => {
  fc.assert(
    fc.property(fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue())), (value) => {
      t.is(prettyJson(JSON.stringify(value)), JSON.stringify(value, null, 2));
    }),
  );
  t.is(
    prettyJson('{"id":12345678901234567890,"x":1.10}'),
    '{\n  "id": 12345678901234567890,\n  "x": 1.10\n}',
  );
  for (const text of ['12', '"a"', 'null', '{"a":1', '[1]x', '', 'Say [1]'])
    t.is(prettyJson(text), null, text);
});

test('what a text is, is seen by its signs', (t) => {
  for (const text of [
    '# A\n',
    'a **b** c',
    '- a\n- b',
    '1. a',
    '```\nx\n```',
    'a `b` c',
    '[a](b)',
    '|a|b|\n|-|-|',
  ])
    t.is(formOf(text).kind, 'markdown', text);
  for (const text of ['Two lines\nof text.', 'a * b * c', '#1 of 2', '-5 degrees', '2.5 litres', 'a | b'])
    t.is(formOf(text).kind, 'plain', text);
  t.is(formOf('[1, 2]').kind, 'json');
});

const million = 1_000_000;
const hostile: Record<string, string> = {
  brackets: `**a** ${'['.repeat(million)}`,
  quotes: `# a\n${'>'.repeat(million)}`,
  lists: Array.from({ length: 1_500 }, (_, depth) => `${' '.repeat(2 * (depth % 400))}- a`).join('\n'),
  dashes: '- '.repeat(million / 2),
  stars: '**a*'.repeat(million / 4),
  underscores: `# a\n${'_a'.repeat(million / 2)}`,
  links: '[a](b '.repeat(million / 6),
  pictures: '![a]('.repeat(million / 5),
  table: `|a|\n|-|\n${'|b'.repeat(million / 2)}`,
  html: '# a\n<div><script>'.repeat(million / 16),
  paragraphs: `- a\n${'b\n'.repeat(million / 2)}`,
  mail: `# a\n${'a.'.repeat(million / 2)}@`,
  json: `${'['.repeat(million / 2)}${']'.repeat(million / 2)}`,
  deepJson: `${'{"a":'.repeat(60_000)}1${'}'.repeat(60_000)}`,
};

test('no text of a megabyte takes long to be recognised', (t) => {
  for (const [name, text] of Object.entries(hostile)) {
    // Of this thread's processor time: what else runs on the machine must not count.
    const from = process.threadCpuUsage();
    formOf(text);
    formOf(text.slice(0, -1));
    const { user, system } = process.threadCpuUsage(from);
    const ms = (user + system) / 1000;
    t.true(ms < 2_000, `${name}: ${ms} ms`);
  }
  const { pretty = '' } = { pretty: prettyJson(hostile.deepJson ?? '') ?? '' };
  t.true(pretty.length <= 2 * million + 1_000);
});

const markdown = `# Report

A **bold** word, \`code\`, [a link](https://example.com/x "t") and [inside](/keys).
Second line.

1. one
   - inner

| a | b |
|---|---|
| 1 | 2 |

\`\`\`
const x = 1;
\`\`\`

![a picture](https://example.com/p.png)
`;

const attacks = `**Attack**
<img src=x onerror="document.title='taken'"><script>document.title="taken"</script>
<svg onload=alert(1)> <iframe src="https://example.com"></iframe> <style>*{display:none}</style>
[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,x) [d](vbscript:x) [e](//example.com) [f](\u0001javascript:x)
<javascript:alert(1)> ![g](javascript:alert(1)) ![h](data:image/svg+xml,x) ![i](https://example.com/i.png)
[j]: javascript:alert(1)
[j] [k](https://example.com" onclick="alert(1))
`;

async function said(site: Site, output: string): Promise<string> {
  const { id } = await site.client.dispatch({
    prompt: 'Say it',
    provider: 'echo',
    model: 'echo-small',
    params: { echo_output: output },
  });
  await site.client.waitFor(id);
  return `/jobs/${id}`;
}

pageTests({ slots: 2 }, (stage) => {
  test.serial(
    'a result in Markdown is rendered, raw at a switch, and the switch is remembered',
    async (t) => {
      const { page, misdeeds } = await stage().open(t);
      await page.goto(await said(stage().site, markdown));
      const result = page.locator('.markdown');
      await result.getByRole('heading', { level: 3, name: 'Report' }).waitFor();
      await result.locator('strong', { hasText: 'bold' }).waitFor();
      t.is(await result.locator('ol li ul li').textContent(), 'inner');
      t.is(await result.locator('td').count(), 2);
      t.is(await result.locator('pre code').textContent(), 'const x = 1;\n');
      const links = await result.locator('a').all();
      const shown = await Promise.all(
        links.map(async (link) => [
          await link.textContent(),
          await link.getAttribute('href'),
          await link.getAttribute('rel'),
        ]),
      );
      t.deepEqual(shown, [
        ['a link', 'https://example.com/x', 'noopener noreferrer nofollow'],
        ['Picture: a picture', 'https://example.com/p.png', 'noopener noreferrer nofollow'],
      ]);
      t.is(await page.locator('main img').count(), 0);
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await page.locator('.card', { has: result }).getByRole('button', { name: 'Copy' }).click();
      await page.getByText('Copied').waitFor();
      t.is(await page.evaluate('navigator.clipboard.readText()'), markdown);
      await page.getByRole('button', { name: 'Raw' }).click();
      t.is(await page.locator('.text-block').first().textContent(), markdown);
      await page.goto(await said(stage().site, '{"a":[1]}'));
      t.is(await page.locator('.text-block').first().textContent(), '{"a":[1]}');
      await page.getByRole('button', { name: 'Raw' }).click();
      t.is(await page.locator('.text-block').first().textContent(), '{\n  "a": [\n    1\n  ]\n}');
      t.deepEqual(misdeeds.found, []);
    },
  );

  test.serial('nothing in a result runs, and no link in it leads anywhere but to the web', async (t) => {
    const { page, misdeeds } = await stage().open(t);
    await page.goto(await said(stage().site, attacks));
    await page.locator('.markdown strong', { hasText: 'Attack' }).waitFor();
    t.is(await page.locator('main :is(img, script, svg:not(.icon), iframe, style)').count(), 0);
    const addresses = await page.evaluate<string[]>(
      "[...document.querySelectorAll('.markdown a')].map((link) => link.href)",
    );
    t.true(
      addresses.length > 0 && addresses.every((href) => href.startsWith('https://example.com')),
      `${addresses}`,
    );
    t.is(
      await page.evaluate(
        "[...document.querySelectorAll('.markdown *')].flatMap((one) => [...one.attributes]).filter(({ name }) => name.startsWith('on')).length",
      ),
      0,
    );
    t.false((await page.title()).startsWith('taken'));
    t.deepEqual(misdeeds.found, []);
  });

  test.serial('no result of a megabyte makes the page hang', async (t) => {
    t.timeout(300_000);
    const { page, misdeeds } = await stage().open(t);
    for (const [name, text] of Object.entries(hostile)) {
      const path = await said(stage().site, text);
      await page.goto(path);
      await page.getByRole('heading', { level: 2, name: 'Result' }).waitFor();
      const from = performance.now();
      // Answered when the page is idle again.
      await page.waitForFunction("document.querySelector('.markdown, .text-block') !== null");
      await page.waitForFunction("document.querySelector('.markdown > .plain') === null");
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
      const ms = performance.now() - from;
      t.true(ms < 8_000, `${name}: ${Math.round(ms)} ms`);
      t.log(`${name}: ${Math.round(ms)} ms`);
    }
    t.deepEqual(misdeeds.found, []);
  });

  for (const [theme, width] of [
    ['light', 1280],
    ['dark', 360],
  ] as const) {
    test.serial(`a rendered result keeps nobody out: ${theme}, ${width} px`, async (t) => {
      const { page, misdeeds } = await stage().open(t, { theme, width });
      await page.goto(await said(stage().site, markdown));
      await page.locator('.markdown table').waitFor();
      t.deepEqual(await faultsOf(page), []);
      t.is(await overflowOf(page), 0);
      t.deepEqual(misdeeds.found, []);
    });
  }
});
