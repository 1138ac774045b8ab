/** Everything that must hold, in one run: types, lint, format and every test. Ends with `N passed, N failed`. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { acquireEmbeddedServer } from '../src/database/embedded.ts';
import { coverageFaults } from '../tests/support/recorder.ts';
import { ensureChromium } from './chromium.ts';

const root = join(import.meta.dir, '..');
const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-report-'));
const report = join(folder, 'junit.xml');
const seenErrors = join(folder, 'errors');
const cluster = join(folder, 'cluster');
mkdirSync(seenErrors);
mkdirSync(cluster);
const isWholeRun = process.argv.length === 2;

function run(title: string, command: readonly string[]): boolean {
  const startedAt = performance.now();
  process.stdout.write(`\n— ${title}\n`);
  const { exitCode } = Bun.spawnSync([...command], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stdout.write(`— ${title}: ${exitCode === 0 ? 'good' : 'FAILED'} in ${seconds} s\n`);
  return exitCode === 0;
}

const hasBrowser = ensureChromium();
const tool = (name: string) => join(root, 'node_modules/.bin', name);

const checks = [
  hasBrowser,
  run('types', [tool('tsc'), '--noEmit']),
  run('types of the dashboard', [tool('tsc'), '--noEmit', '-p', 'dashboard']),
  run('format and lint', [tool('biome'), 'check', '--error-on-warnings']),
  run('floating promises', [tool('oxlint'), '--type-aware', '--deny-warnings']),
];
const server = await acquireEmbeddedServer(cluster);
const testsPassed = run('tests', [
  'env',
  `TOLLGATE_SEEN_ERRORS=${seenErrors}`,
  `TOLLGATE_TEST_CLUSTER=${cluster}`,
  process.execPath,
  'test',
  // Two files at a time, for two cores. What they share is the database server.
  '--parallel=2',
  '--no-isolate',
  '--timeout',
  '60000',
  '--reporter=junit',
  `--reporter-outfile=${report}`,
  ...process.argv.slice(2),
]);

await server.release();

// Only a run of everything can tell which errors no test ever met.
if (isWholeRun && testsPassed) checks.push(sayWhetherAllErrorsWereMet());
const { total, failed } = countTests();
const failedChecks = checks.filter((passed) => !passed).length;
// A runner that died without a report has failed, whatever it counted before.
const failures = failed + failedChecks + (!testsPassed && failed === 0 ? 1 : 0);
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`\n${total - failed + checks.length - failedChecks} passed, ${failures} failed\n`);
process.exit(failures === 0 && total > 0 ? 0 : 1);

function sayWhetherAllErrorsWereMet(): boolean {
  const seen = readdirSync(seenErrors).flatMap((name) =>
    JSON.parse(readFileSync(join(seenErrors, name), 'utf8')),
  );
  const faults = coverageFaults(new Set(seen));
  process.stdout.write(
    `\n— errors of the contract: ${faults.length === 0 ? 'all met' : faults.join('; ')}\n`,
  );
  return faults.length === 0;
}

function countTests(): { total: number; failed: number } {
  try {
    const head = /<testsuites [^>]*>/.exec(readFileSync(report, 'utf8'))?.[0] ?? '';
    const count = (name: string) => Number(new RegExp(`${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
    return { total: count('tests') - count('skipped'), failed: count('failures') + count('errors') };
  } catch {
    return { total: 0, failed: 0 };
  }
}
