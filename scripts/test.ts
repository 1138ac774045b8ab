/**
 * Everything that must hold, in one run: types, lint, format and every test. Ends with `N passed, N failed`. Given names
 * of folders or files, it runs only those tests.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { acquireEmbeddedServer } from '../src/database/embedded.ts';
import { coverageFaults } from '../tests/support/recorder.ts';
import { bundleForTests } from './bundle-for-tests.ts';
import { ensureChromium } from './chromium.ts';
import { readProcessorTimes, stolenShare } from './stolen-time.ts';
import { ProgressPrinter } from './test-progress.ts';
import {
  countsIn,
  errorsBetweenTests,
  errorsIn,
  failedFilesOf,
  hasCounterexample,
  outputOf,
  sumOf,
} from './test-report.ts';
import { selectionOf } from './test-selection.ts';

const root = join(import.meta.dir, '..');
const allFiles = [...new Bun.Glob('tests/**/*.test.ts').scanSync(root)].sort();
const words = process.argv.slice(2);
const selection = selectionOf(words, allFiles);
if ('unknown' in selection) {
  const { unknown, rooms } = selection;
  write(`No folder or test file is named ${unknown}. The folders are ${rooms.join(', ')}.\n`);
  process.exit(1);
}
const { files, options } = selection;
const isWholeRun = words.every((word) => word === '--update-timings');
const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-report-'));
/** Every test file that has ended leaves a file here (tests/support/preload.ts). */
const seenErrors = join(folder, 'errors');
const cluster = join(folder, 'cluster');
mkdirSync(seenErrors);
mkdirSync(cluster);
/** Files wait for processes and deadlines for much of their time, so four keep two cores busy. */
const filesAtOnce = 4;
/** When more files than this fail, it was not by chance. */
const maxRerunFiles = 8;
/** With less than this of its processors a machine misses deadlines that it would keep otherwise, and at any time. */
const maxStolenShare = 0.2;
const starved = { maxRerunFiles: 60, reruns: 3 };

const tool = (name: string) => join(root, 'node_modules/.bin', name);
const needsBrowser = (files ?? allFiles).some((file) => /^tests\/(browser|dashboard)\//.test(file));
const hasBrowser = needsBrowser ? [ensureChromium()] : [];
const [server, bundle, staticChecks] = await Promise.all([
  acquireEmbeddedServer(cluster),
  bundleForTests(),
  // A partial run should answer for its part only, and soon.
  isWholeRun ? checkStatically() : [],
]);
const checks = [...hasBrowser, ...staticChecks];

write('\n— tests\n');
const timesBefore = readProcessorTimes();
const run = await runTests(files, [
  `--parallel=${filesAtOnce}`,
  // The slowest files start first.
  '--timings=scripts/test-timings.json',
  ...options,
]);
const { counts } = run;
const unstable: string[] = [];
const failedFiles = failedFilesOf(counts);
const rerunFiles = failedFiles.filter((file) => !hasCounterexample(outputOf(file, run.output)));
const stolen = stolenShare(timesBefore, readProcessorTimes());
const isStarved = stolen > maxStolenShare;
if (isStarved) write(`\n!!! the host of this machine took ${Math.round(100 * stolen)} % of its processors\n`);
const canRerun = failedFiles.length <= (isStarved ? starved.maxRerunFiles : maxRerunFiles);
if (canRerun) for (const file of rerunFiles) await rerun(file, isStarved ? starved.reruns : 1);
await server.release();

const { total, failed } = sumOf(counts);
// Errors between the tests of a file that passed alone belong to what made it unstable.
const excused = unstable.reduce((sum, file) => sum + errorsBetweenTests(outputOf(file, run.output)), 0);
const errors = Math.max(0, errorsIn(run.output) - excused);
// A runner that died without a report has failed, whatever it counted before.
const hasDied = run.exitCode !== 0 && failedFiles.length === 0 && errors === 0;
// Only a full run can tell which errors never occurred.
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

async function checkStatically(): Promise<boolean[]> {
  return await Promise.all([
    check('types', [tool('tsc'), '--noEmit']),
    check('types of the dashboard', [tool('tsc'), '--noEmit', '-p', 'dashboard']),
    check('format and lint', [tool('biome'), 'check', '--error-on-warnings']),
    check('promises and long functions', [tool('oxlint'), '--type-aware', '--deny-warnings']),
  ]);
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

/** Prints what the tests print while they run, and how many files are left. */
async function runTests(selected: readonly string[] | null, options: readonly string[]) {
  const report = join(folder, `${crypto.randomUUID()}.xml`);
  const settings = [
    '--no-isolate',
    '--timeout',
    '180000',
    '--reporter=junit',
    `--reporter-outfile=${report}`,
  ];
  const folders = [
    `TOLLGATE_SEEN_ERRORS=${seenErrors}`,
    `TOLLGATE_TEST_CLUSTER=${cluster}`,
    `TOLLGATE_TEST_BUNDLE=${bundle}`,
  ];
  const paths = selected?.map((file) => `./${file}`) ?? [];
  const command = [process.execPath, 'test', ...settings, ...options, ...paths];
  const total = selected?.length ?? allFiles.length;
  const printer = new ProgressPrinter(total, process.stdout.isTTY, write);
  const endedBefore = readdirSync(seenErrors).length;
  const watcher = watch(seenErrors, () => {
    printer.setLeft(total - (readdirSync(seenErrors).length - endedBefore));
  });
  const child = Bun.spawn(['env', ...folders, ...command], {
    cwd: root,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const forward = async (stream: ReadableStream<Uint8Array>): Promise<string> => {
    let output = '';
    const decoder = new TextDecoder();
    for await (const bytes of stream) {
      const text = decoder.decode(bytes, { stream: true });
      output += text;
      printer.write(text);
    }
    return output;
  };
  const [output] = await Promise.all([forward(child.stderr), forward(child.stdout)]);
  const exitCode = await child.exited;
  watcher.close();
  printer.end();
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

/** Once more and alone: a test that passes now depends on something that it should not. */
async function rerun(file: string, times: number): Promise<void> {
  write(`\n— once more, alone: ${file}\n`);
  const again = await runTests([file], []);
  const count = again.counts.get(file);
  // Without a count the failures of the first time stand.
  if (count === undefined) return;
  const hasFailed = again.exitCode !== 0;
  counts.set(file, hasFailed ? { ...count, failed: Math.max(1, count.failed) } : count);
  if (!hasFailed) unstable.push(file);
  else if (times > 1) await rerun(file, times - 1);
}

/** It does not fail the run, but has to be fixed. */
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
