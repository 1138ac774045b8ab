/** The pages of docs/ that the gateway serves: that they are safe, and that what links to them finds its section. */
import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { appPaths } from '../../src/dashboard/paths.ts';
import { guideNames, readGuides, renderMarkdown } from '../../src/openapi/guides.ts';
import { withAddress } from '../../src/openapi/serve.ts';

const { page: guide, missing } = readGuides();
const pages = new Map(guideNames.map((name) => [name, guide(name) ?? '']));

/** Whether `clients#base-url` is a page, and a section of it. */
function exists(target: string): boolean {
  const [name = '', anchor] = target.split('#');
  const page = pages.get(name);
  return page !== undefined && (anchor === undefined || page.includes(` id="${anchor}"`));
}

test('every page is there, and no other file', () => {
  for (const [name, page] of pages) expect([name, page.includes('<h1')]).toEqual([name, true]);
  for (const name of ['', 'mutation', '../README', 'clients.md', 'CLIENTS', '__proto__', 'constructor'])
    expect([name, guide(name)]).toEqual([name, null]);
});

test('there are guides for customers and for operators', () => {
  for (const name of ['decisions', 'reports', 'deployment', 'operator-pages', 'catalog', 'sign-in', 'alerts'])
    expect([name, pages.has(name)]).toEqual([name, true]);
  expect(guide('chat')).toContain('<p>For operators</p>');
});

test('README names every guide that is served', () => {
  const readme = readFileSync(join(import.meta.dir, '../../README.md'), 'utf8');
  expect(guideNames.filter((name) => !readme.includes(`docs/${name}.md`))).toEqual([]);
});

test('an address without a guide gets a page with the contents', () => {
  expect(missing()).toContain('<h1 id="page-not-found">');
  expect(missing()).toContain('href="/docs/deployment"');
});

test('every section that an error names exists', () => {
  const folder = join(import.meta.dir, '../../src');
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(folder, name), 'utf8'));
  const named = sources.flatMap((text) =>
    [...text.matchAll(/'((?:clients|chat|messages|images|keys)#[\w-]+)'/g)].map(([, target = '']) => target),
  );
  expect(new Set(named).size).toBeGreaterThan(6);
  expect(named.filter((target) => !exists(target))).toEqual([]);
});

test('links lead to pages and sections that exist, and nowhere else on this gateway', () => {
  const lost = [...pages].flatMap(([name, page]) =>
    [...page.matchAll(/href="([^"]*)"/g)]
      .map(([, target = '']) => target)
      .filter((target) => {
        if (['/', '/docs', '/docs.css', '#content'].includes(target)) return false;
        // The list of requests, and whatever else the dashboard has.
        if (['/requests', ...appPaths].includes(target.split('?')[0] ?? '')) return false;
        if (target.startsWith('https://')) return false;
        return !exists(target.startsWith('#') ? `${name}${target}` : target.replace('/docs/', ''));
      })
      .map((target) => `${name}: ${target}`),
  );
  expect(lost).toEqual([]);
});

test('a guide leads to the page of the dashboard that it speaks of', () => {
  expect(guide('keys')).toContain('</h1><p class="place">In the dashboard: <a href="/keys">Keys</a></p>');
  expect(guide('grants')).toContain('<a href="/billing?tab=credit">');
});

test('examples name the address of the gateway, whatever it is', () => {
  const html = '<p>http://127.0.0.1:8080/v1 https://gateway.example.com</p>';
  expect(withAddress(html, 'https://a.example')).toBe('<p>https://a.example/v1 https://a.example</p>');
  expect(withAddress(html, 'http://$&.example')).toBe(
    '<p>http://$&amp;.example/v1 https://gateway.example.com</p>',
  );
});

test('a cell has the header of its column', () => {
  expect(renderMarkdown('| `a "b"` | | c |\n|---|---|---|\n| 1 | | 2 |')).toContain(
    '<tr><td data-label="a &quot;b&quot;">1</td><td></td><td data-label="c">2</td></tr>',
  );
});

test('a link has the title of its page, and short names are not broken', () => {
  const titles = (name: string) => (name === 'keys' ? 'Keys & limits' : '');
  expect(
    renderMarkdown('See [keys.md](keys.md#limits), [other.md](other.md) and [them](keys.md).', titles),
  ).toContain(
    'See <a href="/docs/keys#limits">Keys &amp; limits</a>, other.md and <a href="/docs/keys">them</a>.',
  );
  expect(renderMarkdown('`--port` and `a name that is longer than a line`')).toContain(
    '<code class="short">--port</code> and <code>a name',
  );
  for (const [name, page] of pages) expect([name, page.match(/>[\w-]+\.md<\/a>/)]).toEqual([name, null]);
});

describe('what a text contains is never run', () => {
  test('pages have one script, no style of their own, and nothing from elsewhere', () => {
    const suspicious = /<script|<style|<iframe|<img| style=| on\w+=|src=|@import|<!-- \w+ -->/g;
    for (const [name, page] of pages) {
      const rest = page.replace('<script src="/docs.js"></script>', '');
      expect([name, [...rest.matchAll(suspicious)].map(([text]) => text)]).toEqual([name, []]);
    }
  });

  test.each([
    '<script>alert(1)</script>',
    'a <img src=x onerror=alert(1)> b',
    '[x](javascript:alert(1))',
    '[x](JAVASCRIPT:alert(1))',
    '[x](data:text/html,hello)',
    '[x](//evil.example)',
    '[x](/keys "title")',
    '[x](../secrets.md)',
    '![x](https://evil.example/pixel.png)',
    '[x](" onclick="alert(1))',
  ])('%s', (text) => {
    expect(renderMarkdown(text)).not.toMatch(/<script|<img|href=|<[^>]*\son\w+=/i);
  });
});
