/** npm run mutation: see docs/mutation.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Random } from '../../chaos/random.ts';
import { Compiler } from './compiler.ts';
import { reasonFor, staleEquivalents } from './equivalent.ts';
import { type Mutant, mutantsOf } from './mutants.ts';
import {
  aimPercent,
  type Finding,
  formatMutant,
  formatPage,
  formatTable,
  percentKilled,
  rowsOf,
  sumOf,
} from './report.ts';
import { type TestFiles, targets } from './targets.ts';
import { killRunningTests, Tree } from './tree.ts';

const root = join(import.meta.dir, '../..');
const page = join(root, 'docs/mutation.md');
const workerCount = 2;

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    write: { type: 'boolean', default: false },
  },
});

const isChosen = (file: string) =>
  values.only.length === 0 || values.only.some((part) => file.startsWith(part));
const files = Object.keys(targets).filter(isChosen);
const trees = Array.from({ length: workerCount }, () => new Tree(root));
const [firstTree] = trees;
if (firstTree === undefined || files.length === 0) throw new Error('There is nothing to do.');
const compiler = new Compiler(firstTree);

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    killRunningTests();
    for (const tree of trees) tree.remove();
    process.exit(1);
  });

try {
  process.exitCode = await main(firstTree);
} finally {
  await compiler.close();
  for (const tree of trees) tree.remove();
}

async function main(tree: Tree): Promise<number> {
  const all: Mutant[] = [];
  for (const file of files) all.push(...mutantsOf(file, await compiler.parse(file)));
  const stale = staleEquivalents(files, all);
  for (const { file, within, change } of stale)
    console.log(`explained, but no longer a mutant: ${file} ${within}: ${change}`);
  const chosen = values.sample === undefined ? all : sampled(all, Number(values.sample), Number(values.seed));
  console.log(`${chosen.length} of ${all.length} mutants in ${files.length} files`);
  const limits = await measureLimits(tree, chosen);

  const waiting = chosen.entries();
  const verdicts: Finding['verdict'][] = [];
  await Promise.all(
    trees.map(async (own) => {
      for (const [index, mutant] of waiting) {
        const limitMs = limits.get(testsOf(mutant.file)) ?? 0;
        const verdict = await own.withMutant(mutant, () => own.test(testsOf(mutant.file), limitMs));
        verdicts[index] = verdict;
        if (verdict === 'survived') console.error(`${index + 1} passed the tests: ${formatMutant(mutant)}`);
      }
    }),
  );
  const findings: Finding[] = [];
  for (const [index, mutant] of chosen.entries())
    findings.push({ mutant, verdict: await judge(mutant, verdicts[index] ?? 'survived') });
  return report(findings) && stale.length === 0 ? 0 : 1;
}

/** A mutant that passed the tests may not compile, or be known to change nothing. */
async function judge(mutant: Mutant, verdict: Finding['verdict']): Promise<Finding['verdict']> {
  if (verdict !== 'survived') {
    if (reasonFor(mutant) !== null) console.log(`explained, but killed: ${formatMutant(mutant)}`);
    return verdict;
  }
  if (await compiler.rejects(mutant)) return 'types';
  return reasonFor(mutant) === null ? 'survived' : 'explained';
}

function report(findings: readonly Finding[]): boolean {
  for (const { mutant, verdict } of findings) if (verdict === 'survived') console.log(formatMutant(mutant));
  const rows = rowsOf(findings);
  console.log(`\n${formatTable(rows)}`);
  // A sample says little about a single file.
  if (values.write && values.sample === undefined)
    writeFileSync(page, formatPage(readFileSync(page, 'utf8'), rows, Object.keys(targets)));
  return percentKilled(sumOf(rows)) >= aimPercent;
}

function testsOf(file: string): TestFiles {
  return targets[file] ?? [];
}

/** Several times as long as the tests take with the originals, which they must pass. */
async function measureLimits(tree: Tree, mutants: readonly Mutant[]): Promise<Map<TestFiles, number>> {
  const limits = new Map<TestFiles, number>();
  for (const tests of new Set(mutants.map(({ file }) => testsOf(file)))) {
    const startedAtMs = performance.now();
    const verdict = await tree.test(tests, 300_000);
    if (verdict !== 'survived') throw new Error(`These tests fail without any mutant: ${tests.join(' ')}`);
    limits.set(tests, Math.ceil(5_000 + 4 * (performance.now() - startedAtMs)));
  }
  return limits;
}

function sampled(mutants: readonly Mutant[], size: number, seed: number): readonly Mutant[] {
  const random = new Random(seed);
  const marked = mutants.map((mutant) => ({ mutant, mark: random.next() }));
  const taken = new Set(marked.toSorted((one, other) => one.mark - other.mark).slice(0, size));
  return marked.filter((one) => taken.has(one)).map(({ mutant }) => mutant);
}
