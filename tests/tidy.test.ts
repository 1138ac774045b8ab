/** What a program can hold of the project's habits. */
import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { errorTable } from '../src/errors.ts';

const root = join(import.meta.dir, '..');
const codeFolders = ['src', 'sandbox', 'scripts', 'tests'];

const files = codeFolders
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .filter((name) => /\.(ts|tsx|mjs)$/.test(name))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }));
const sources = files.filter(({ name }) => name.startsWith('src/'));

/**
 * Which part of src may import which. A part is a folder or a file directly in src; `handler.ts` files are endpoints
 * wherever they lie, because a handler sits with what it is about.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  errors: [],
  config: ['lib'],
  database: ['config', 'lib'],
  providers: ['errors', 'lib'],
  ledger: ['errors', 'lib'],
  pricing: ['errors', 'lib'],
  keys: ['errors', 'lib'],
  users: ['lib'],
  accounts: ['ledger', 'lib'],
  models: ['pricing', 'errors', 'lib'],
  routing: ['models', 'pricing', 'providers', 'errors', 'lib'],
  http: ['keys', 'routing', 'errors', 'lib'],
  decisions: ['errors', 'lib'],
  endpoint: ['http', 'keys', 'models', 'pricing', 'routing', 'errors', 'lib'],
  operations: ['http', 'demo', 'lib'],
  'start-page': [],
  demo: ['accounts', 'keys', 'users', 'lib'],
  routes: ['endpoint', 'operations', 'start-page', 'http', 'errors', 'lib'],
  main: [
    'routes',
    'routing',
    'operations',
    'demo',
    'keys',
    'models',
    'providers',
    'database',
    'config',
    'lib',
  ],
  cli: ['main', 'accounts', 'keys', 'users', 'ledger', 'models', 'database', 'config', 'lib'],
};

function partOf(name: string): string {
  if (name.endsWith('/handler.ts')) return 'endpoint';
  return name.split('/')[1]?.replace(/\.ts$/, '') ?? '';
}

const importsOf = (text: string) =>
  [...text.matchAll(/^(?:import|export)\b[^'"]*?from '(\.[^']+)'/gm)].map((match) => match[1] ?? '');

test('imports point one way', () => {
  const wrong = sources.flatMap(({ name, text }) => {
    const part = partOf(name);
    const targets = importsOf(text).map((path) => relative(root, join(root, dirname(name), path)));
    const outside = targets.filter((target) => !target.startsWith('src/'));
    const inside = targets.filter(
      (target) =>
        target.startsWith('src/') && partOf(target) !== part && !mayImport[part]?.includes(partOf(target)),
    );
    return [...outside, ...inside].map((target) => `${name} imports ${target}`);
  });
  expect(wrong).toEqual([]);
});

test('the rule of imports has no circle, so "one way" means something', () => {
  const visit = (part: string, path: readonly string[]): string[] =>
    path.includes(part)
      ? [[...path, part].join(' → ')]
      : (mayImport[part] ?? []).flatMap((next) => visit(next, [...path, part]));
  expect(Object.keys(mayImport).flatMap((part) => visit(part, []))).toEqual([]);
});

test('the environment is read in config.ts only', () => {
  const readers = files.filter(
    ({ name, text }) =>
      name !== 'src/config.ts' &&
      !name.startsWith('tests/') &&
      /process\.env|Bun\.env|import\.meta\.env/.test(text),
  );
  expect(readers.map(({ name }) => name)).toEqual([]);
});

test('no floating point touches money', () => {
  const careful = sources.filter(({ name }) => /^src\/(pricing|ledger)\/|^src\/lib\/money\.ts$/.test(name));
  // Counting the rows of an audit is not money.
  const offenders = careful.flatMap(({ name, text }) =>
    [...text.matchAll(/^.*(\bNumber\(|parseFloat|parseInt|Math\.|toFixed|\.toNumber).*$/gm)]
      .map((match) => `${name}: ${match[0].trim()}`)
      .filter((line) => !line.includes('row.checked')),
  );
  expect(careful.length).toBeGreaterThan(4);
  expect(offenders).toEqual([]);
});

/** Codes whose endpoints are still to come. A code that gets used must leave this list. */
const unusedSoFar = new Set<string>([
  'invalid_request',
  'missing_required_parameter',
  'invalid_n',
  'invalid_size',
  'invalid_cursor',
  'invalid_response_format',
  'insufficient_balance',
  'monthly_spend_limit_exceeded',
  'generation_not_found',
  'rate_limit_exceeded',
  'provider_rate_limit',
  'server_not_configured',
  'balance_lookup_failed',
  'monthly_spend_lookup_failed',
  'model_pricing_lookup_failed',
  'billing_consistency_error',
  'model_list_failed',
  'usage_lookup_failed',
  'usage_cost_lookup_failed',
  'api_keys_lookup_failed',
  'generation_lookup_failed',
  'provider_attempt_create_failed',
  'configuration_error',
  'provider_bad_request',
  'provider_unavailable',
  'provider_unknown_error',
  'provider_stream_error',
  'all_providers_unavailable',
  'provider_timeout',
  'empty_provider_stream',
  'repeated_streaming_chunk_limit',
  'malformed_stream_chunk',
  'usage_missing',
  'streaming_error',
  'billing_temporarily_unavailable',
  'gateway_interrupted',
]);

test('every error code is used, unless its endpoint is still to come', () => {
  const used = (code: string) =>
    sources.some(({ name, text }) => name !== 'src/errors.ts' && text.includes(`'${code}'`));
  const codes = Object.keys(errorTable);
  expect(codes.filter((code) => !used(code) && !unusedSoFar.has(code))).toEqual([]);
  expect(codes.filter((code) => used(code) && unusedSoFar.has(code))).toEqual([]);
});

test('SQL gets its values as parameters: no template builds a statement from text', () => {
  // Only fixed statements, the migrations and names made by this project may go through unsafe().
  const callers = sources.filter(({ text }) => text.includes('.unsafe')).map(({ name }) => name);
  expect(callers).toEqual(['src/database/migrate.ts', 'src/ledger/audit.ts']);
});

test('files stay short enough to read in one sitting', () => {
  const long = files.filter(
    ({ name, text }) => text.split('\n').length > (name.startsWith('tests/') ? 900 : 300),
  );
  expect(long.map(({ name }) => name)).toEqual([]);
});

test('file names are kebab-case', () => {
  const odd = files.filter(
    ({ name }) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.test)?\.(ts|tsx|mjs)$/.test(name.split('/').at(-1) ?? ''),
  );
  expect(odd.map(({ name }) => name)).toEqual([]);
});
