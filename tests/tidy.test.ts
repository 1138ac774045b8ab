/** The habits of the project that a program can check. */
import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { errorTable } from '../src/errors.ts';

const root = join(import.meta.dir, '..');
const codeFolders = ['src', 'sandbox', 'dashboard', 'scripts', 'bench', 'chaos', 'tests'];

const files = codeFolders
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .filter((name) => /\.(ts|tsx|mjs)$/.test(name) && !name.startsWith('dashboard/dist/'))
  .map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }));
const sources = files.filter(({ name }) => name.startsWith('src/'));

/** Which part of src may import which. A part is a folder or a file directly in src. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  lib: [],
  audit: ['lib'],
  'audit-log': ['lib'],
  config: ['lib'],
  http: ['lib', 'errors'],
  dashboard: ['http', 'lib', 'errors'],
  events: ['lib'],
  database: ['config', 'lib'],
  json: ['http', 'lib', 'errors'],
  ledger: ['audit-log', 'database', 'lib', 'errors'],
  grants: ['ledger', 'audit-log', 'json', 'lib', 'errors'],
  limits: ['ledger', 'audit-log', 'json', 'http', 'lib', 'errors'],
  keys: ['limits', 'grants', 'audit-log', 'json', 'http', 'lib', 'errors'],
  pricing: ['json', 'lib', 'errors'],
  providers: ['json', 'lib', 'errors'],
  tokens: ['audit-log', 'json', 'http', 'lib', 'errors'],
  usage: ['keys', 'json', 'http', 'lib', 'errors'],
  rollups: ['lib'],
  accounts: ['audit-log', 'ledger', 'lib', 'errors'],
  generations: ['ledger', 'keys', 'http', 'lib', 'errors'],
  requests: ['generations', 'ledger', 'http', 'lib', 'errors'],
  exports: ['generations', 'audit-log', 'http', 'lib', 'errors'],
  models: ['providers', 'pricing', 'keys', 'http', 'lib', 'errors'],
  nodes: ['ledger', 'database', 'lib'],
  doctor: ['payments', 'nodes', 'models', 'ledger', 'database', 'config', 'lib'],
  idempotency: ['nodes', 'ledger', 'json', 'lib', 'errors'],
  webhooks: ['events', 'audit-log', 'json', 'lib', 'errors'],
  payments: ['audit-log', 'json', 'http', 'lib', 'errors'],
  people: ['events', 'accounts', 'tokens', 'audit-log', 'json', 'http', 'lib', 'errors'],
  imports: ['limits', 'people', 'accounts', 'ledger', 'keys', 'json', 'audit-log', 'lib', 'errors'],
  reconciliation: ['models', 'usage', 'providers', 'json', 'lib'],
  routing: ['models', 'providers', 'pricing', 'lib'],
  demo: ['people', 'accounts', 'keys', 'lib'],
  inference: [
    'routing',
    'idempotency',
    'models',
    'providers',
    'pricing',
    'ledger',
    'keys',
    'limits',
    'json',
    'http',
    'lib',
    'errors',
  ],
  telemetry: ['routing', 'reconciliation', 'ledger', 'http', 'config', 'lib', 'errors'],
  chat: [
    'inference',
    'routing',
    'models',
    'providers',
    'pricing',
    'ledger',
    'keys',
    'limits',
    'json',
    'http',
    'lib',
    'errors',
  ],
  images: ['inference', 'routing', 'models', 'providers', 'pricing', 'json', 'errors'],
  operations: ['demo', 'nodes', 'models', 'providers', 'database', 'http', 'config', 'lib'],
  decisions: [
    'chat',
    'inference',
    'routing',
    'people',
    'models',
    'providers',
    'ledger',
    'json',
    'http',
    'lib',
    'errors',
  ],
  openapi: [
    'admin',
    'webhooks',
    'events',
    'images',
    'chat',
    'models',
    'generations',
    'tokens',
    'keys',
    'limits',
    'grants',
    'ledger',
    'http',
    'lib',
    'errors',
  ],
  console: [
    'webhooks',
    'events',
    'exports',
    'payments',
    'decisions',
    'images',
    'chat',
    'inference',
    'routing',
    'reconciliation',
    'people',
    'nodes',
    'models',
    'requests',
    'generations',
    'accounts',
    'usage',
    'rollups',
    'tokens',
    'grants',
    'ledger',
    'keys',
    'limits',
    'json',
    'http',
    'audit-log',
    'audit',
    'lib',
    'errors',
  ],
  admin: [
    'webhooks',
    'events',
    'console',
    'exports',
    'routing',
    'payments',
    'people',
    'models',
    'idempotency',
    'generations',
    'accounts',
    'usage',
    'tokens',
    'grants',
    'ledger',
    'keys',
    'limits',
    'json',
    'http',
    'audit-log',
    'lib',
    'errors',
  ],
  routes: [
    'admin',
    'console',
    'openapi',
    'decisions',
    'operations',
    'images',
    'chat',
    'telemetry',
    'inference',
    'payments',
    'people',
    'models',
    'requests',
    'generations',
    'usage',
    'keys',
    'json',
    'dashboard',
    'http',
    'lib',
    'errors',
  ],
  main: [
    'grants',
    'webhooks',
    'events',
    'limits',
    'payments',
    'routes',
    'admin',
    'decisions',
    'exports',
    'operations',
    'telemetry',
    'inference',
    'demo',
    'routing',
    'reconciliation',
    'people',
    'idempotency',
    'nodes',
    'requests',
    'usage',
    'rollups',
    'providers',
    'ledger',
    'keys',
    'limits',
    'database',
    'http',
    'config',
    'audit',
    'lib',
  ],
  cli: [
    'grants',
    'webhooks',
    'events',
    'main',
    'imports',
    'exports',
    'payments',
    'reconciliation',
    'people',
    'doctor',
    'models',
    'accounts',
    'usage',
    'tokens',
    'ledger',
    'keys',
    'limits',
    'database',
    'config',
    'audit-log',
    'audit',
    'lib',
    'errors',
  ],
};

function partOf(name: string): string {
  return name.split('/')[1]?.replace(/\.ts$/, '') ?? '';
}

/** Every form: with names, for its effect alone, re-exported, and at run time. */
const importsOf = ({ name, text }: { name: string; text: string }) =>
  [...text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((match) =>
    relative(root, join(root, dirname(name), match[1] ?? '')),
  );

test('imports point one way', () => {
  const wrong = sources.flatMap((file) => {
    const part = partOf(file.name);
    const isAllowed = (target: string) =>
      // The gateway builds the app that it serves.
      (part === 'dashboard' && /^dashboard\/build[./]/.test(target)) ||
      // It checks the directives for its own sandbox, whose errors it could not pass on.
      (part === 'inference' && target === 'sandbox/scenario.ts') ||
      (target.startsWith('src/') && (partOf(target) === part || mayImport[part]?.includes(partOf(target))));
    return importsOf(file)
      .filter((target) => !isAllowed(target))
      .map((target) => `${file.name} imports ${target}`);
  });
  expect(wrong).toEqual([]);
});

test('the sandbox stands alone, as a provider would', () => {
  const wrong = files
    .filter(({ name }) => name.startsWith('sandbox/'))
    .flatMap((file) => importsOf(file).filter((target) => !target.startsWith('sandbox/')));
  expect(wrong).toEqual([]);
});

test('the dashboard shares only the types of the contract with the server', () => {
  const contract =
    /^import type [^;]*'(?:\.\.\/)+src\/(?:console\/(?:[a-z]+-)?|people\/sign-in-)contract\.ts';$/;
  const wrong = files
    .filter(({ name }) => name.startsWith('dashboard/'))
    .flatMap(({ name, text }) =>
      [...text.matchAll(/^(?:import|export)\b[^;]*'((?:\.\.\/)+[^']*)';$/gm)]
        .filter(
          ([line, from = '']) => !join(dirname(name), from).startsWith('dashboard/') && !contract.test(line),
        )
        .map(([line]) => `${name}: ${line}`),
    );
  expect(wrong).toEqual([]);
});

test('the rule of imports has no circle, so "one way" means something', () => {
  const visit = (part: string, path: readonly string[]): string[] =>
    path.includes(part)
      ? [[...path, part].join(' → ')]
      : (mayImport[part] ?? []).flatMap((next) => visit(next, [...path, part]));
  expect(Object.keys(mayImport).flatMap((part) => visit(part, []))).toEqual([]);
});

test('no file imports itself through others, not even for a type', () => {
  const importsByName = new Map(files.map((file) => [file.name, importsOf(file)]));
  const done = new Set<string>();
  const visit = (name: string, path: readonly string[]): string[] => {
    if (path.includes(name)) return [[...path.slice(path.indexOf(name)), name].join(' → ')];
    if (done.has(name)) return [];
    const circles = (importsByName.get(name) ?? []).flatMap((next) => visit(next, [...path, name]));
    done.add(name);
    return circles;
  };
  expect(files.flatMap(({ name }) => visit(name, []))).toEqual([]);
});

test('the environment is read in config.ts only', () => {
  const readers = files.filter(
    ({ name, text }) =>
      name !== 'src/config.ts' &&
      !name.startsWith('tests/') &&
      // A word that the build replaces in the scripts for browsers, and code that people are shown to copy.
      !['dashboard/build/bundle.ts', 'dashboard/kit/code-samples.ts'].includes(name) &&
      /process\.env|Bun\.env|import\.meta\.env/.test(text),
  );
  expect(readers.map(({ name }) => name)).toEqual([]);
});

test('every setting that config.ts reads is in .env.example', () => {
  const example = readFileSync(join(root, '.env.example'), 'utf8');
  const config = sources.find(({ name }) => name === 'src/config.ts')?.text ?? '';
  const unlisted = [
    // Set by a parent for its workers, by sudo, by the network of the machine, or for the runtime.
    'TOLLGATE_WORKER',
    'SUDO_USER',
    'HTTP_PROXY',
    'HTTPS_PROXY',
    'BUN_CONFIG_MAX_HTTP_REQUESTS',
    // For tests.
    'STRIPE_API_URL',
  ];
  const read = [...config.matchAll(/(?:\benvironment\.|')([A-Z][A-Z_]{3,}?)(?:_FILE)?\b/g)].map(
    ([, name = '']) => name,
  );
  const missing = [...new Set(read)].filter((name) => !new RegExp(`^(?:# )?${name}=`, 'm').test(example));
  expect(read.length).toBeGreaterThan(40);
  expect(missing.toSorted()).toEqual(unlisted.toSorted());
});

test('no floating point touches money', () => {
  const careful = sources.filter(({ name }) =>
    /^src\/(pricing|ledger|audit|reconciliation)\/|^src\/lib\/money\.ts$/.test(name),
  );
  // Milliseconds, requests, tokens, rows of an audit and positions in a query are counted here too, and are not money.
  const isNoMoney = (line: string) =>
    /Ms\b|_ms\b|remaining|requestsPerMinute|openCount|maxConcurrent|Number\(tokens\)|row\.checked|internalPosition/.test(
      line,
    );
  const offenders = careful.flatMap(({ name, text }) =>
    [...text.matchAll(/^.*(\bNumber\(|parseFloat|parseInt|Math\.|toFixed|\.toNumber).*$/gm)]
      .map((match) => `${name}: ${match[0].trim()}`)
      .filter((line) => !isNoMoney(line)),
  );
  expect(careful.length).toBeGreaterThan(4);
  expect(offenders).toEqual([]);
});

test('every error code is used', () => {
  // Describing a code is not using it.
  const users = sources.filter(
    ({ name }) => !name.endsWith('/errors.ts') && !name.startsWith('src/openapi/'),
  );
  const used = (code: string) => users.some(({ text }) => text.includes(`'${code}'`));
  const codes = Object.keys(errorTable);
  expect(codes.filter((code) => !used(code))).toEqual([]);
});

test('SQL gets its values as parameters: no template builds a statement from text', () => {
  // Only fixed statements, the migrations and names made by this project may go through unsafe().
  const callers = sources.filter(({ text }) => text.includes('.unsafe')).map(({ name }) => name);
  expect(callers.toSorted()).toEqual([
    'src/audit/archive-detach.ts',
    'src/audit/archive.ts',
    'src/audit/audit.ts',
    'src/audit/repair.ts',
    'src/audit/run.ts',
    'src/database/backup.ts',
    'src/database/concurrent-index.ts',
    'src/database/migrate.ts',
    'src/database/restore.ts',
    'src/database/retention.ts',
    'src/ledger/locked-commit.ts',
    'src/ledger/writer.ts',
    'src/people/auth.ts',
    'src/rollups/attempts.ts',
    'src/rollups/figures.ts',
    'src/rollups/one-by-one.ts',
    'src/rollups/spend.ts',
  ]);
});

test('no request, command or job of these folders can leave a transaction open', () => {
  const folders =
    /^src\/(accounts|admin|audit-log|cli|console|events|grants|imports|keys|limits|payments|people|tokens|webhooks)\//;
  const begun = sources.filter(({ name, text }) => folders.test(name) && /\.begin\(/.test(text));
  // Use shortTransaction.
  expect(begun.map(({ name }) => name)).toEqual([]);
});

test('migrations that databases may have applied are never changed, not even their comments', () => {
  const newest = 20;
  const names = readdirSync(join(root, 'migrations')).filter((name) => Number.parseInt(name, 10) <= newest);
  const hasher = new Bun.CryptoHasher('sha256');
  for (const name of names.toSorted()) hasher.update(readFileSync(join(root, 'migrations', name)));
  expect(names).toHaveLength(newest);
  expect(hasher.digest('hex')).toBe('62ba509992aebe81ab32843fc8dc7256142186a64103cd0c4245da33634536d7');
});

test('JSON from outside is parsed within bounds: elsewhere only what this project wrote, or the operator', () => {
  const parsers = sources
    .filter(({ text }) => /\bJSON\.parse\b|\bJSON as\b|\.json\(\)/.test(withoutComments(text)))
    .map(({ name }) => name);
  expect(parsers.toSorted()).toEqual([
    // What the gateway stored itself.
    'src/audit/archive-file.ts',
    'src/chat/signatures.ts',
    'src/cli/export-output.ts',
    // The operator's own files.
    'src/database/restore.ts',
    'src/demo.ts',
    // What the gateway stored itself.
    'src/idempotency/encryption.ts',
    // The way in.
    'src/json/bounded.ts',
    // Single strings, of a text that is bounded.
    'src/json/keys.ts',
    // It writes JSON.
    'src/json/raw.ts',
    // Single strings, of a text that is bounded.
    'src/json/steps.ts',
    // What the gateway stored itself.
    'src/ledger/settlement.ts',
    'src/ledger/spool.ts',
    // The operator's own files, and our own.
    'src/lib/gzip-lines.ts',
    'src/lib/software-version.ts',
    'src/openapi/document.ts',
    // What the sandbox, our own process, announces.
    'src/providers/shared-sandbox.ts',
  ]);
});

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
}

test('files stay short enough to read in one sitting', () => {
  const long = files.filter(
    ({ name, text }) => text.split('\n').length > (name.startsWith('tests/') ? 900 : 500),
  );
  expect(long.map(({ name }) => name)).toEqual([]);
});

test('file names are kebab-case', () => {
  const odd = files.filter(
    ({ name }) =>
      !/^[a-z0-9]+(-[a-z0-9]+)*(\.(test|operations))?\.(ts|tsx|mjs)$/.test(name.split('/').at(-1) ?? ''),
  );
  expect(odd.map(({ name }) => name)).toEqual([]);
});
