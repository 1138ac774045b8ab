/** Everything that must hold, in one run: types, lint, format and every test. Ends with `N passed, N failed`. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dir, '..');
const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-report-'));
const report = join(folder, 'junit.xml');

function run(title: string, command: readonly string[]): boolean {
  const startedAt = performance.now();
  process.stdout.write(`\n— ${title}\n`);
  const { exitCode } = Bun.spawnSync([...command], { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  process.stdout.write(`— ${title}: ${exitCode === 0 ? 'good' : 'FAILED'} in ${seconds} s\n`);
  return exitCode === 0;
}

const tool = (name: string) => join(root, 'node_modules/.bin', name);

const checks = [
  run('types', [tool('tsc'), '--noEmit']),
  run('format and lint', [tool('biome'), 'check', '--error-on-warnings']),
  run('floating promises', [tool('oxlint'), '--type-aware', '--deny-warnings']),
];
const testsPassed = run('tests', [
  // Only a run of everything can tell which errors no test ever met.
  ...(process.argv.length > 2 ? [] : ['env', 'TOLLGATE_WHOLE_SUITE=yes']),
  process.execPath,
  'test',
  '--timeout',
  '60000',
  '--reporter=junit',
  `--reporter-outfile=${report}`,
  ...process.argv.slice(2),
]);

const { total, failed } = countTests();
const failedChecks = checks.filter((passed) => !passed).length;
// A runner that died without a report has failed, whatever it counted before.
const failures = failed + failedChecks + (!testsPassed && failed === 0 ? 1 : 0);
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`\n${total - failed + checks.length - failedChecks} passed, ${failures} failed\n`);
process.exit(failures === 0 && total > 0 ? 0 : 1);

function countTests(): { total: number; failed: number } {
  try {
    const head = /<testsuites [^>]*>/.exec(readFileSync(report, 'utf8'))?.[0] ?? '';
    const count = (name: string) => Number(new RegExp(`${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
    return { total: count('tests') - count('skipped'), failed: count('failures') + count('errors') };
  } catch {
    return { total: 0, failed: 0 };
  }
}
