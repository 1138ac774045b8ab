/** What a log line may contain of an error: its own words, never the data that caused it. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { appPaths } from '../../src/dashboard/paths.ts';
import { createLog, formatForTerminal, type LogFields } from '../../src/lib/log.ts';

function logged(error: unknown): string {
  let text = '';
  createLog('error', (line) => {
    text += line;
  }).error('failed', { error });
  return text;
}

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('Nothing was thrown.');
}

test.each([
  ['JSON that cannot be parsed', () => JSON.parse('canary-a')],
  ['JSON cut off in a string', () => JSON.parse('{"a": "canary-b')],
  ['an address', () => new URL('canary-c')],
  [
    'an argument of the wrong kind',
    () => Buffer.from({ toString: () => 'canary-d' } as unknown as string, 'canary-d' as 'hex'),
  ],
])('an error about %s does not repeat it', (_what, run) => {
  expect(logged(thrownBy(run))).not.toContain('canary-');
});

test('nothing in quotes of any kind is logged, whatever is quoted, in a cause of a cause either', () => {
  const quotes = fc.constantFrom('"', "'", '`');
  const piece = fc.oneof(fc.string(), fc.constantFrom('"', "'", '`', '\\', '\n    at ', "don't"));
  fc.assert(
    fc.property(quotes, fc.stringMatching(/^[a-z ]{0,20}$/), piece, piece, (quote, text, before, after) => {
      const cause = new Error(`${text} ${quote}${before}canary${after}${quote} ${text} ${quote}canary`);
      const outer = new Error('outer', { cause: new TypeError('inner', { cause }) });
      expect(logged(outer)).not.toContain('canary');
    }),
    { numRuns: 1_000 },
  );
});

test('the database is quoted where it names its own objects, and nowhere else', () => {
  const said = (errno: string, message: string) =>
    logged(Object.assign(new Error(message), { errno, code: 'X' }));
  expect(said('42P01', 'relation "api_keys" does not exist')).toContain(
    'relation \\"api_keys\\" does not exist',
  );
  expect(said('22P02', 'invalid input syntax for type uuid: "canary"')).not.toContain('canary');
  expect(said('22P02', 'invalid input syntax for type uuid: "canary"')).toContain('"code":"22P02"');
});

test('the rest of the message, the code and the places in the code are there, apostrophes included', () => {
  const error = Object.assign(new Error("The provider's answer was late."), { code: 'ELATE' });
  const line = JSON.parse(logged(error));
  expect(line.error).toMatchObject({
    name: 'Error',
    code: 'ELATE',
    message: "The provider's answer was late.",
  });
  expect(line.error.stack[0]).toContain('log.test.ts');
});

describe('on a terminal', () => {
  test('a request is one short line, and what others sent cannot move the cursor', () => {
    const line = formatForTerminal('info', 'request', {
      method: 'POST',
      route: '/v1/chat/completions',
      status: 200,
      latencyMs: 12,
      model: 'full\u001b[2J\n',
      provider: 'Main',
    });
    expect(line).toEndWith('POST /v1/chat/completions 200 12 ms  full·[2J· via Main');
    expect(Bun.stripANSI(line ?? '')).toMatch(/^\d\d:\d\d:\d\d POST /);
  });

  test('a request has its cost or why it failed, and its ID', () => {
    const request = {
      method: 'POST',
      route: '/v1/x',
      latencyMs: 3,
      requestId: 'req_1',
      accountId: 'a',
      keyId: 'k',
    };
    const usage = { model: 'm', provider: 'P', outcome: 'completed', inputTokens: 6, outputTokens: 3 };
    const line = (fields: LogFields) => formatForTerminal('info', 'request', { ...request, ...fields });
    expect(line({ status: 200, ...usage, costUsd: 0.00000000075 })).toEndWith(
      ' POST /v1/x 200 3 ms  m via P  6 + 3 tokens  $0.00000000075  req_1',
    );
    // Red and yellow.
    expect(line({ status: 502, code: 'provider_timeout' })).toEndWith(
      ' \u001b[31mPOST /v1/x 502 3 ms  provider_timeout  req_1\u001b[0m',
    );
    expect(line({ status: 404 })).toContain('\u001b[33mPOST');
  });

  test('pages and what they load have no line, unless they fail', () => {
    const line = (method: string, route: string, status: number, code?: string) =>
      formatForTerminal('info', 'request', {
        method,
        route,
        status,
        latencyMs: 1,
        ...(code === undefined ? {} : { code }),
      });
    const pages = [
      ...appPaths,
      '/docs',
      '/docs/*',
      '/docs.css',
      '/docs.js',
      '/openapi.json',
      '/assets/:name',
    ];
    for (const route of pages) expect([route, line('GET', route, 200)]).toEqual([route, null]);
    expect(line('GET', '/api/console/me', 304)).toBeNull();
    expect(line('GET', '/api/console/me', 401, 'session_required')).toBeNull();
    expect(line('GET', '/api/console/accounts', 401, 'session_required')).not.toBeNull();
    expect(line('GET', '(none)', 404, 'not_found')).not.toBeNull();
    expect(line('GET', '/billing', 500)).not.toBeNull();
    expect(line('GET', '/api/console/me', 500)).not.toBeNull();
    expect(line('POST', '/api/console/accounts/:account/keys', 200)).not.toBeNull();
    expect(line('GET', '/v1/models', 200)).not.toBeNull();
    const lines: string[] = [];
    const log = createLog('info', (text) => lines.push(text), formatForTerminal);
    log.info('request', { method: 'GET', route: '/assets/:name', status: 200 });
    expect(lines).toEqual([]);
  });

  test('of an error there is the message, without what it quotes', () => {
    const line = formatForTerminal('error', 'request failed', {
      code: 'internal_error',
      error: new Error('Unexpected token "secret"'),
    });
    expect(line).toContain('request failed  code=internal_error  Unexpected token …');
    expect(line).not.toContain('secret');
  });

  test('a field that is not allowed is not there either', () => {
    expect(formatForTerminal('info', 'x', { prompt: 'secret' } as never)).not.toContain('secret');
  });
});
