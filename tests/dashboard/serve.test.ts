/** The dashboard as browsers get it: its page, its files, and their security policy. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { brotliDecompressSync } from 'node:zlib';
import fc from 'fast-check';
import { appPaths, isForPeople } from '../../src/dashboard/paths.ts';
import { acceptsGzip, prefersPage } from '../../src/http/accept.ts';
import { pathOf } from '../../src/http/path.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';

let database: TestDatabase;
let gateway: Gateway;
let secured: Gateway;

beforeAll(async () => {
  database = await createDatabase();
  [gateway, secured] = await Promise.all([
    startGateway({ DATABASE_URL: database.url }),
    startGateway({ DATABASE_URL: database.url, PUBLIC_URL: 'https://gateway.example.com' }),
  ]);
});

afterAll(async () => {
  await Promise.all([gateway?.stop(), secured?.stop()]);
  await database?.close();
});

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

const get = (path: string, headers: Record<string, string> = {}, origin = gateway.origin) =>
  fetch(`${origin}${path}`, { headers: { accept: browser, ...headers }, decompress: false });

/** Everything that the page names, scripts and styles alike. */
async function assetsOfPage(): Promise<string[]> {
  const page = await (await get('/', { 'accept-encoding': 'identity' })).text();
  return [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
}

describe('the page', () => {
  test.each(appPaths)('is at %s', async (path) => {
    const response = await get(path.replace(':id', 'req_0123456789abcdef0123456789abcdef'));
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('x-service-request-id')).toMatch(/^req_[0-9a-f]{32}$/);
  });

  test('is revalidated each time, and sent again only when it has changed', async () => {
    const first = await get('/keys');
    const tag = first.headers.get('etag') ?? '';
    expect(first.headers.get('cache-control')).toBe('no-cache');
    expect(tag).toMatch(/^W\/"\w+"$/);
    const known = await get('/models', { 'if-none-match': `"other", ${tag}` });
    expect([known.status, await known.text()]).toEqual([304, '']);
    expect(known.headers.get('content-security-policy')).not.toBeNull();
    expect((await get('/models', { 'if-none-match': 'W/"other"' })).status).toBe(200);
  });

  test('has no inline script or style, which the policy would refuse', async () => {
    const page = await (await get('/', { 'accept-encoding': 'identity' })).text();
    const scripts = [...page.matchAll(/<script\b([^>]*)>([^<]*)</g)];
    expect(scripts).toHaveLength(2);
    for (const [, attributes, content] of scripts) {
      expect(attributes).toContain('src="/assets/');
      expect(content).toBe('');
    }
    expect(page).not.toMatch(/<style|\sstyle=|\son\w+=/);
  });
});

describe('its files', () => {
  test('are named after their content, so they are cached forever', async () => {
    const paths = await assetsOfPage();
    expect(paths.length).toBeGreaterThan(3);
    for (const path of paths) {
      const response = await get(path);
      expect(response.status).toBe(200);
      expect(path).toMatch(/^\/assets\/[\w-]+-[a-z0-9]{8,}\.(js|css|svg|woff2)$/);
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    }
  });

  test('are compressed for clients that accept that, and only for them', async () => {
    const [path = ''] = (await assetsOfPage()).filter((name) => name.endsWith('.css'));
    const plain = await get(path, { 'accept-encoding': 'gzip;q=0, identity' });
    const packed = await get(path, { 'accept-encoding': 'zstd, gzip;q=0.5' });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(packed.headers.get('content-encoding')).toBe('gzip');
    expect([plain.headers.get('vary'), packed.headers.get('vary')]).toEqual([
      'accept-encoding',
      'accept-encoding',
    ]);
    const bytes = await packed.bytes();
    const text = await plain.text();
    expect(bytes.length).toBeLessThan(text.length / 2);
    expect(new TextDecoder().decode(Bun.gunzipSync(new Uint8Array(bytes)))).toBe(text);
  });

  test('are sent with brotli to clients that name it', async () => {
    const [path = ''] = (await assetsOfPage()).filter((name) => name.endsWith('.css'));
    const smallest = await get(path, { 'accept-encoding': 'gzip, deflate, br' });
    expect(smallest.headers.get('content-encoding')).toBe('br');
    expect(smallest.headers.get('vary')).toBe('accept-encoding');
    const plain = await (await get(path, { 'accept-encoding': 'identity' })).bytes();
    expect(Buffer.compare(brotliDecompressSync(await smallest.bytes()), plain)).toBe(0);
    const unnamed = await get(path, { 'accept-encoding': '*' });
    expect(unnamed.headers.get('content-encoding')).toBe('gzip');
  });

  test('have the fonts among them, for the reference too', async () => {
    const [font = ''] = (await assetsOfPage()).filter((name) => name.endsWith('.woff2'));
    const response = await get(font);
    expect(response.headers.get('content-type')).toBe('font/woff2');
    const style = await (await get('/docs.css')).text();
    const fonts = [...style.matchAll(/url\((\/assets\/[^)]+)\)/g)].map(([, path = '']) => path);
    expect(fonts).toContain(font);
    expect(await Promise.all(fonts.map(async (path) => (await get(path)).status))).toEqual([200, 200]);
    for (const path of ['/', '/docs'])
      expect((await get(path)).headers.get('content-security-policy')).toContain("font-src 'self'");
  });

  test('are less than 250 KB of packed script for the first page, and far less in all', async () => {
    const scripts = (await assetsOfPage()).filter((path) => path.endsWith('.js'));
    const sizes = await Promise.all(
      scripts.map(async (path) => (await (await get(path, { 'accept-encoding': 'gzip' })).bytes()).length),
    );
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(175_000);
  });

  test.each([
    '/assets/missing.js',
    '/assets/index.html',
    '/assets/fonts.css',
    '/assets/..%2Findex.html',
    '/assets/app.css.gz',
    '/assets/a/b.js',
    '/assets',
    '/assets/',
  ])('%s is none of them, and no page either', async (path) => {
    const response = await get(path);
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toContain('application/json');
  });
});

describe('an unknown address', () => {
  test('is a page for people', async () => {
    const response = await get('/nothing/here?really');
    expect(response.status).toBe(404);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).not.toBeNull();
    expect(await get('/nothing', { 'if-none-match': response.headers.get('etag') ?? '' })).toMatchObject({
      status: 404,
    });
  });

  test.each([
    ['/v1/nothing', 'GET', browser],
    ['/v1', 'GET', browser],
    ['/api/nothing', 'GET', browser],
    ['/nothing', 'POST', browser],
    ['/keys', 'POST', browser],
    ['/nothing', 'GET', '*/*'],
    ['/nothing', 'GET', 'application/json'],
    ['/nothing', 'GET', 'application/json, text/html;q=0.9'],
    ['/nothing', 'GET', 'text/html;q=0'],
  ])('%s is an error for programs (%s, %s)', async (path, method, accept) => {
    const response = await fetch(`${gateway.origin}${path}`, { method, headers: { accept } });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: 'not_found' } });
  });
});

describe('what browsers are told to refuse', () => {
  const directives = (policy: string) =>
    new Map(policy.split('; ').map((part) => [part.split(' ')[0] ?? '', part.split(' ').slice(1)]));

  test.each(['/', '/sign-in', '/nothing', '/docs', '/docs.css', '/openapi.json'])('on %s', async (path) => {
    const { headers } = await get(path);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).not.toContain('unsafe');
    expect(policy).not.toContain('http');
    expect(directives(policy).get('default-src')).toEqual(["'none'"]);
    expect(directives(policy).get('style-src')).toEqual(["'self'"]);
    expect(directives(policy).get('frame-ancestors')).toEqual(["'none'"]);
    expect(directives(policy).get('base-uri')).toEqual(["'none'"]);
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(headers.get('permissions-policy')).toContain('camera=()');
  });

  test('the app runs its own scripts and talks to its own server, the reference talks to nobody', async () => {
    const policyOf = async (path: string) =>
      directives((await get(path)).headers.get('content-security-policy') ?? '');
    const [app, reference] = [await policyOf('/'), await policyOf('/docs')];
    expect([app.get('script-src'), app.get('connect-src'), app.get('form-action')]).toEqual([
      ["'self'"],
      ["'self'"],
      ["'self'"],
    ]);
    expect(app.get('img-src')).toEqual(["'self'", 'data:', 'blob:']);
    expect([reference.get('script-src'), reference.has('connect-src')]).toEqual([["'self'"], false]);
  });

  test('HTTPS is promised only where browsers come by HTTPS', async () => {
    for (const path of ['/', '/docs', '/nothing']) {
      expect((await get(path)).headers.get('strict-transport-security')).toBeNull();
      const promise = (await get(path, {}, secured.origin)).headers.get('strict-transport-security');
      expect(promise).toBe('max-age=63072000');
    }
  });
});

describe('headers and addresses', () => {
  test.each([
    ['gzip', true],
    ['GZIP', true],
    ['br;q=1.0, gzip;q=0.8, *;q=0.1', true],
    ['*', true],
    ['x-gzip', true],
    ['gzip;q=0', false],
    ['gzip; q=0.0, *', false],
    ['*;q=0', false],
    ['gzip;q=x', false],
    ['gzip;q=-1', false],
    ['br', false],
    ['identity', false],
    ['', false],
    [null, false],
  ])('Accept-Encoding %j takes gzip: %p', (header, expected) => {
    expect(acceptsGzip(header)).toBe(expected);
  });

  test('no header is too strange to be read', () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        expect([typeof acceptsGzip(header), typeof prefersPage(header)]).toEqual(['boolean', 'boolean']);
      }),
    );
  });

  test('the path of an address, whatever its host is', () => {
    const words = fc.array(fc.stringMatching(/^[a-z0-9%._~-]{1,8}$/), { maxLength: 4 });
    fc.assert(
      fc.property(
        fc.constantFrom('', 'http://gateway', 'http://[::1', 'https://a:b:c'),
        words,
        fc.constantFrom('', '?', '?a=/v1/b', '?x#y'),
        (host, path, rest) => {
          expect(pathOf(`${host}/${path.join('/')}${rest}`)).toBe(`/${path.join('/')}`);
        },
      ),
    );
  });

  test('what is for programs', () => {
    expect(['/v1', '/v1/x', '/api/console/me', '/assets/x.js'].filter(isForPeople)).toEqual([]);
    expect(['/', '/v1x', '/apis', '/assets-of-mine', '/x/v1'].filter(isForPeople)).toHaveLength(5);
  });
});
