/** Requests that are not valid HTTP, some of them only at a closer look. */
import type { Random } from '../random.ts';

type Broken = Readonly<{ name: string; of: (good: string, random: Random) => string }>;

const withHeader = (good: string, line: string) => good.replace('\r\n', `\r\n${line}\r\n`);

/** `good` is a complete valid request. */
export const brokenRequests: readonly [Broken, ...Broken[]] = [
  { name: 'two hosts', of: (good) => withHeader(good, 'host: other.example') },
  { name: 'no host', of: (good) => good.replace('host: 127.0.0.1\r\n', '') },
  {
    name: 'odd host',
    of: (good, random) =>
      good.replace(
        'host: 127.0.0.1',
        `host: ${random.pick(['', ' ', 'a b', '[::1', 'x'.repeat(300), '\u00ff'])}`,
      ),
  },
  {
    name: 'huge header',
    of: (good, random) => withHeader(good, `x-filler: ${'x'.repeat(random.pick([9_000, 20_000, 70_000]))}`),
  },
  {
    name: 'many headers',
    of: (good, random) =>
      withHeader(
        good,
        Array.from({ length: random.pick([90, 300, 2_000]) }, (_, index) => `x-${index}: 1`).join('\r\n'),
      ),
  },
  {
    name: 'huge target',
    of: (good, random) => good.replace(' /', ` /${'x'.repeat(random.pick([5_000, 20_000, 70_000]))}`),
  },
  {
    name: 'bad header name',
    of: (good, random) =>
      withHeader(
        good,
        random.pick(['b\u0000d: 1', ': 1', 'no colon', 'sp ace: 1', '\u00ff: 1', ' folded: 1']),
      ),
  },
  {
    name: 'bad header value',
    of: (good, random) => withHeader(good, `x-odd: ${random.pick(['a\u0000b', 'a\rb', '\u0001', '\u007f'])}`),
  },
  { name: 'bare line feeds', of: (good) => good.replaceAll('\r\n', '\n') },
  { name: 'negative length', of: (good) => good.replace(/content-length: \d+/, 'content-length: -1') },
  {
    name: 'length not a number',
    of: (good, random) =>
      good.replace(
        /content-length: \d+/,
        `content-length: ${random.pick(['x', '1e3', '0x10', '', '99999999999999999999', '1, 2', '+5'])}`,
      ),
  },
  { name: 'two lengths', of: (good) => withHeader(good, 'content-length: 3') },
  { name: 'length too small', of: (good) => good.replace(/content-length: \d+/, 'content-length: 5') },
  { name: 'length and chunks', of: (good) => withHeader(good, 'transfer-encoding: chunked') },
  {
    name: 'odd coding',
    of: (good, random) =>
      withHeader(
        good.replace(/content-length: \d+\r\n/, ''),
        `transfer-encoding: ${random.pick(['gzip', 'chunked, chunked', 'identity', 'xchunked', ' chunked'])}`,
      ),
  },
  {
    name: 'bad chunk',
    of: (good, random) =>
      withHeader(good.replace(/content-length: \d+\r\n/, ''), 'transfer-encoding: chunked').replace(
        /\r\n\r\n.*$/s,
        `\r\n\r\n${random.pick(['zz\r\n', '-1\r\n', 'ffffffffffffffff\r\nx', '5\r\nabc\r\n0\r\n\r\n', '1;x=y\r\na\r\n0\r\nt: 1\r\n\r\n', '\r\n'])}`,
      ),
  },
  {
    name: 'bad version',
    of: (good, random) =>
      good.replace(
        'HTTP/1.1',
        random.pick(['HTTP/0.9', 'HTTP/2.0', 'HTTP/9.9', 'HTP/1.1', '', 'HTTP/1.1 x']),
      ),
  },
  {
    name: 'bad method',
    of: (good, random) =>
      good.replace(
        /^\w+/,
        random.pick(['GE T', 'get', '', '\u0000', 'X'.repeat(500), 'PRI * HTTP/2.0\r\n\r\nSM', 'G\u00ffT']),
      ),
  },
  {
    name: 'bad target',
    of: (good, random) =>
      good.replace(
        /^(\w+) \S+/,
        `$1 ${random.pick(['*', 'x', 'http://other.example/v1/models', '//', '/%', '/%00', '/\u0000', '/../../etc/passwd', '/a b', '\\', '/v1/models#x', '?'])}`,
      ),
  },
  {
    name: 'not HTTP',
    of: (_, random) =>
      random.pick([
        '\u0016\u0003\u0001\u0002\u0000\u0001',
        '\u0000'.repeat(100),
        'HELO x\r\n',
        '\r\n\r\n\r\n',
        'x'.repeat(5_000),
        '{"model":1}',
        'SSH-2.0-x\r\n',
      ]),
  },
  {
    name: 'expects 100-continue',
    of: (good, random) => withHeader(good, `expect: ${random.pick(['100-continue', 'x'])}`),
  },
  {
    name: 'asks for an upgrade',
    of: (good) =>
      withHeader(
        good,
        'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: x\r\nsec-websocket-version: 13',
      ),
  },
];
