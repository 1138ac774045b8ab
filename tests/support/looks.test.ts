/** What checkLooks notices: faults in one look only, and texts that differ from good ones only by what is behind them. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { openBrowser, openPage, type Watched } from './browser.ts';
import { checkLooks } from './looks.ts';

const pageOf = (style: string, content: string) => `<!doctype html><html lang="en"><title>Test</title>
  <meta name="viewport" content="width=device-width">
  <style>
    :root { color-scheme: light dark; background: light-dark(#fff, #111); color: light-dark(#222, #eee) }
    .narrow { display: none }
    @media (max-width: 600px) { .narrow { display: block } }
    ${style}
  </style>
  <body><main><h1>Test</h1>${content}</main></body></html>`;

const good = '<p>A text that is <a href="/healthz">good</a>.</p>';
const narrowDark = '@media (max-width: 600px) and (prefers-color-scheme: dark)';

const faults: Record<string, { style?: string; content: string; expected: string }> = {
  'a label that is missing': { content: '<input>', expected: 'label: ' },
  'a label that is missing on a phone': {
    content: '<div class="narrow"><input></div>',
    expected: 'label: ',
  },
  'a label that is missing on a small screen': {
    style: '@media (min-width: 1100px) or (max-width: 600px) { div { display: none } }',
    content: '<div><input></div>',
    expected: 'label: ',
  },
  'a contrast that is too low by day': {
    style: 'p { color: light-dark(#aaa, #eee) }',
    content: good,
    expected: 'color-contrast: ',
  },
  'a contrast that is too low at night': {
    style: 'p { color: light-dark(#222, #444) }',
    content: good,
    expected: 'color-contrast: ',
  },
  'a contrast that is too low on a small screen at night': {
    style:
      '@media (max-width: 1100px) and (min-width: 800px) and (prefers-color-scheme: dark) { p { color: #444 } }',
    content: good,
    expected: 'color-contrast: ',
  },
  'a contrast that is too low on a phone at night': {
    style: `${narrowDark} { p { color: #444 } }`,
    content: good,
    expected: 'color-contrast: ',
  },
  'the colour of a good text on another background': {
    style: 'div { background: light-dark(#444, #bbb) }',
    content: `${good}<div><p>Hard to read</p></div>`,
    expected: 'color-contrast: ',
  },
  'the colour of a good text on something that is not around it': {
    style:
      'section, section p { position: relative } div { position: absolute; inset: 0; background: light-dark(#444, #bbb) }',
    content: `${good}<section><div></div><p>Hard to read</p></section>`,
    expected: 'color-contrast: ',
  },
  'a good text of which half can be seen': {
    style: 'b { opacity: 0.4; font-weight: normal }',
    content: `${good}<p><b>Hard to read</b></p>`,
    expected: 'color-contrast: ',
  },
  'a link that looks like the text around it': {
    style: 'p a { color: light-dark(#333, #ddd); text-decoration: none }',
    content: good,
    expected: 'link-in-text-block: ',
  },
  'a region that scrolls on a phone and cannot be reached by key': {
    style: '@media (max-width: 600px) { section { overflow: auto; height: 40px } }',
    content: `<section>${'<p>A text</p>'.repeat(9)}</section>`,
    expected: 'scrollable-region-focusable: ',
  },
  'a page that is too wide for a phone': {
    style: 'section { width: 500px }',
    content: '<section>Wide</section>',
    expected: '"overflow": 1',
  },
};

let server: ReturnType<typeof Bun.serve>;
let browser: Browser;
let watched: Watched;

beforeAll(async () => {
  server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => {
      const { style = '', content = good } =
        faults[new URL(request.url).searchParams.get('fault') ?? ''] ?? {};
      return new Response(pageOf(style, content), { headers: { 'content-type': 'text/html' } });
    },
  });
  browser = await openBrowser();
  watched = await openPage(browser, server.url.origin);
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await server?.stop(true);
});

async function faultOf(name: string): Promise<string> {
  await watched.page.goto(`/?fault=${encodeURIComponent(name)}`);
  return await checkLooks(watched.page, 'test', true).then(
    () => '',
    (error: unknown) => Bun.stripANSI(`${error}`),
  );
}

test('a good page is good, even when seen again', async () => {
  expect([await faultOf(''), await faultOf('')]).toEqual(['', '']);
});

test.each(Object.keys(faults))('notices %s', async (name) => {
  expect(await faultOf(name)).toContain(faults[name]?.expected ?? '');
});
