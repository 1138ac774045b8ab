/** Everything that must hold, in one run: types, lint, format and every test. Ends with `N passed, N failed`. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { acquireEmbeddedServer } from '../src/database/embedded.ts';
import { coverageFaults } from '../tests/support/recorder.ts';
import { bundleForTests } from './bundle-for-tests.ts';
import { ensureChromium } from './chromium.ts';
import { countsIn, errorsIn, failedFilesOf, hasCounterexample, outputOf, sumOf } from './test-report.ts';

const root = join(import.meta.dir, '..');
const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-report-'));
const seenErrors = join(folder, 'errors');
const cluster = join(folder, 'cluster');
mkdirSync(seenErrors);
mkdirSync(cluster);
const isWholeRun = process.argv.length === 2;
/** Files spend about a third of their time waiting for a process or a deadline, so three keep two cores busy. */
const filesAtOnce = 4;
/** When more files than this fail, it was not by chance. */
const maxRerunFiles = 8;

const tool = (name: string) => join(root, 'node_modules/.bin', name);
const hasBrowser = ensureChromium();
const [server, bundle, ...staticChecks] = await Promise.all([
  acquireEmbeddedServer(cluster),
  bundleForTests(),
  check('types', [tool('tsc'), '--noEmit']),
  check('types of the dashboard', [tool('tsc'), '--noEmit', '-p', 'dashboard']),
  check('format and lint', [tool('biome'), 'check', '--error-on-warnings']),
  check('floating promises', [tool('oxlint'), '--type-aware', '--deny-warnings']),
]);
const checks = [hasBrowser, ...staticChecks];

write('\n— tests\n');
const run = await runTests([
  `--parallel=${filesAtOnce}`,
  // The slowest files start first.
  '--timings=scripts/test-timings.json',
  ...process.argv.slice(2),
]);
const { counts } = run;
const unstable: string[] = [];
const failedFiles = failedFilesOf(counts);
const rerunFiles = failedFiles.filter((file) => !hasCounterexample(outputOf(file, run.output)));
if (failedFiles.length <= maxRerunFiles) for (const file of rerunFiles) await rerun(file);
await server.release();

const { total, failed } = sumOf(counts);
const errors = errorsIn(run.output);
// A runner that died without a report has failed, whatever it counted before.
const hasDied = run.exitCode !== 0 && failedFiles.length === 0 && errors === 0;
// Only a run of everything can tell which errors no test ever met.
if (isWholeRun && failed + errors === 0 && !hasDied) checks.push(reportUnseenErrors());
for (const file of unstable) reportUnstable(file);
const failedChecks = checks.filter((passed) => !passed).length;
const failures = failed + errors + failedChecks + (hasDied ? 1 : 0);
for (const made of [folder, bundle]) rmSync(made, { recursive: true, force: true });
write(`\n${total - failed + checks.length - failedChecks} passed, ${failures} failed\n`);
process.exit(failures === 0 && total > 0 ? 0 : 1);

function write(text: string): void {
  process.stdout.write(text);
}

/** These run at the same time, so each prints what it found when it has ended. */
async function check(title: string, command: string[]): Promise<boolean> {
  const startedAt = performance.now();
  const child = Bun.spawn(command, { cwd: root, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [output, errors, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  if (exitCode !== 0) write(`\n${output}${errors}`);
  write(`— ${title}: ${exitCode === 0 ? 'good' : 'FAILED'} in ${seconds} s\n`);
  return exitCode === 0;
}

/** Prints what the tests print while they run. */
async function runTests(options: readonly string[]) {
  const report = join(folder, `${crypto.randomUUID()}.xml`);
  const settings = ['--no-isolate', '--timeout', '60000', '--reporter=junit', `--reporter-outfile=${report}`];
  const folders = [
    `TOLLGATE_SEEN_ERRORS=${seenErrors}`,
    `TOLLGATE_TEST_CLUSTER=${cluster}`,
    `TOLLGATE_TEST_BUNDLE=${bundle}`,
  ];
  const child = Bun.spawn(['env', ...folders, process.execPath, 'test', ...settings, ...options], {
    cwd: root,
    stdin: 'ignore',
    stdout: 'inherit',
    stderr: 'pipe',
  });
  let output = '';
  const decoder = new TextDecoder();
  for await (const bytes of child.stderr) {
    const text = decoder.decode(bytes, { stream: true });
    output += text;
    write(text);
  }
  const exitCode = await child.exited;
  return { exitCode, output, counts: countsIn(readReport(report)) };
}

/** There is none when the runner was killed. */
function readReport(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Once more and alone: a test that passes now depends on something that it should not depend on. */
async function rerun(file: string): Promise<void> {
  write(`\n— once more, alone: ${file}\n`);
  const again = await runTests([`./${file}`]);
  const count = again.counts.get(file);
  // Without a count the failures of the first time stand.
  if (count === undefined) return;
  const hasFailed = again.exitCode !== 0;
  counts.set(file, hasFailed ? { ...count, failed: Math.max(1, count.failed) } : count);
  if (!hasFailed) unstable.push(file);
}

/** It does not fail the run, and has to be fixed all the same. */
function reportUnstable(file: string): void {
  write(`\n!!! unstable, to be fixed: ${file} failed in the run and passed alone. It printed:\n`);
  write(`${outputOf(file, run.output).replace(/^/gm, '    ')}\n`);
}

function reportUnseenErrors(): boolean {
  const seen = readdirSync(seenErrors).flatMap((name) =>
    JSON.parse(readFileSync(join(seenErrors, name), 'utf8')),
  );
  const faults = coverageFaults(new Set(seen));
  write(`\n— errors of the contract: ${faults.length === 0 ? 'all met' : faults.join('; ')}\n`);
  return faults.length === 0;
}
