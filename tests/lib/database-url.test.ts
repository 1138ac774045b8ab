/** One URL per host of a URL that may name several. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { urlsOfHosts } from '../../src/lib/database-url.ts';

test('a URL with one host stays as it is', () => {
  for (const url of [
    'postgres://u:p@h:5432/d?sslmode=require',
    'postgresql://h/d',
    'postgres://u@localhost/d?path=%2Ftmp',
  ])
    expect(urlsOfHosts(url)).toEqual([url]);
});

test('several hosts share the rest', () => {
  expect(urlsOfHosts('postgres://u:p%40@h1:5432,h2:5433,[::1]/d?sslmode=prefer')).toEqual([
    'postgres://u:p%40@h1:5432/d?sslmode=prefer',
    'postgres://u:p%40@h2:5433/d?sslmode=prefer',
    'postgres://u:p%40@[::1]/d?sslmode=prefer',
  ]);
});

test('every host comes back, in its order', () => {
  const host = fc
    .tuple(fc.domain(), fc.integer({ min: 1, max: 65_535 }))
    .map(([name, port]) => `${name}:${port}`);
  fc.assert(
    fc.property(fc.array(host, { minLength: 1, maxLength: 5 }), (hosts) => {
      const urls = urlsOfHosts(`postgres://user:secret@${hosts.join(',')}/db`);
      expect(urls).toEqual(hosts.map((name) => `postgres://user:secret@${name}/db`));
    }),
  );
});

test('anything else is not a URL', () => {
  for (const text of ['', 'mysql://h/d', 'postgres://h1,/d', 'postgres://h1:port/d', 'h1,h2'])
    expect(urlsOfHosts(text)).toBeNull();
});
