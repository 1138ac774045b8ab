/** The command line of the bench. */
import { describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { requireDescriptors } from '../../bench/descriptors.ts';
import { commandOf, parseOptions } from '../../bench/options.ts';

test('without options it is the thorough run on any free port', () => {
  expect(parseOptions([])).toEqual({
    isQuick: false,
    isWritten: false,
    comparison: null,
    curves: null,
    areDeployments: false,
    openStreams: 1_000,
    rate: 500,
    peer: null,
    beforeFolder: null,
    rounds: null,
    upstreamPort: null,
  });
  expect(commandOf(parseOptions([]))).toBe('npm run bench');
});

test('another checkout may be anywhere, which the report does not repeat', () => {
  const options = parseOptions(['--before', '../before', '--rounds', '8']);
  expect(options.beforeFolder).toBe(resolve('../before'));
  expect(commandOf(options)).toBe('npm run bench -- --rounds 8 --before FOLDER');
});

test('deployments are another run, of one version or of two', () => {
  expect(parseOptions(['--deployments']).areDeployments).toBe(true);
  const options = parseOptions(['--before', '../before', '--deployments', '--rounds', '8']);
  expect(commandOf(options)).toBe('npm run bench -- --deployments --rounds 8 --before FOLDER');
});

describe('a peer', () => {
  test('gets a fixed port for the upstream, unless another is named', () => {
    expect(parseOptions(['--against', 'http://127.0.0.1:9999', '--key', 'k']).upstreamPort).toBe(9876);
    const words = ['--against', 'http://127.0.0.1:9999', '--upstream-port', '7000'];
    expect(parseOptions(words).upstreamPort).toBe(7000);
  });

  test.each([
    ['http://127.0.0.1:9999', '127.0.0.1', 9999, ''],
    ['http://localhost:4000/v1', 'localhost', 4000, ''],
    ['http://localhost:4000/v1/', 'localhost', 4000, ''],
    ['http://[::1]:8080/openai/', '::1', 8080, '/openai'],
    ['http://127.3.2.1', '127.3.2.1', 80, ''],
  ])('at %s', (url, hostname, port, prefix) => {
    const { peer } = parseOptions(['--against', url, '--key', 'k', '--model', 'm', '--header', 'x-a: b']);
    expect(peer).toEqual({
      hostname,
      port,
      prefix,
      keys: ['k'],
      headers: ['x-a: b'],
      model: 'm',
      passesEventsSingly: false,
    });
  });

  test.each([
    'http://10.0.0.1:9999',
    'http://example.com',
    'http://127.0.0.1.example.com',
    'http://127.0.0.1@example.com',
    'http://localhost.example.com',
    'https://127.0.0.1:9999',
    'ftp://127.0.0.1',
    'http://[::2]',
    'http://0.0.0.0:9999',
  ])('at %s gets no load', (url) => {
    expect(() => parseOptions(['--against', url, '--key', 'k'])).toThrow('loopback only');
  });

  test('cannot smuggle a line into the request', () => {
    const words = ['--against', 'http://127.0.0.1:1', '--header', 'a: b\r\nContent-Length: 0'];
    expect(() => parseOptions(words)).toThrow('--header takes');
  });

  test('leaves its key out of the recorded command', () => {
    const options = parseOptions(['--against', 'http://127.0.0.1:9999', '--key', 'secret', '--quick']);
    expect(commandOf(options)).toBe('npm run bench -- --quick --against http://127.0.0.1:9999');
  });
});

test('curves go up to a million Generations, or as far as asked', () => {
  expect(parseOptions(['--curves']).curves).toEqual({ maxGenerations: 1_000_000 });
  const options = parseOptions(['--curves', '--max-generations', '10000000', '--write']);
  expect(options.curves).toEqual({ maxGenerations: 10_000_000 });
  expect(options.isWritten).toBe(true);
  expect(commandOf(options)).toBe('npm run bench -- --curves --max-generations 10000000');
});

test('the recorded command repeats what differs from the defaults', () => {
  const options = parseOptions(['--streams', '10000', '--rate', '700']);
  expect(commandOf(options)).toBe('npm run bench -- --streams 10000 --rate 700');
});

test.each([
  [['--compare', 'moods'], '--compare takes one of workers, metrics'],
  [['--compare', 'workers', '--curves'], 'choose one'],
  [['--against', 'http://127.0.0.1:1', '--curves'], 'choose one'],
  [['--deployments', '--curves'], 'choose one'],
  [['--max-generations', '10000'], 'needs --curves'],
  [['--curves', '--max-generations', '9999'], 'whole number from 10000'],
  [['--streams', '1e4'], 'whole number'],
  [['--rate', '0'], 'whole number'],
  [['--rate=-5'], 'whole number'],
  [['--upstream-port', '65536'], 'whole number'],
  [['--key', 'k'], 'need --against'],
  [['--model', 'm'], 'need --against'],
  [['--unknown'], 'unknown'],
])('%p is refused', (words, message) => {
  expect(() => parseOptions(words)).toThrow(message);
});

test('more streams than there are file descriptors for are refused before the run', () => {
  expect(() => requireDescriptors(10_000, 20_000)).toThrow('ulimit -n 20200');
  expect(() => requireDescriptors(10_000, 20_200)).not.toThrow();
  expect(() => requireDescriptors(10_000, null)).not.toThrow();
});
