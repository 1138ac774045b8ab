/**
 * `npm run bench`: the upstream alone, a bare proxy and the gateway side by side, in one run, as one table. Other runs, and
 * the options of this one, are described in docs/bench.md; `options.ts` has all of them.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compare } from './compare.ts';
import { runCurves } from './curves.ts';
import { curveFiles, curveReport } from './curves-report.ts';
import { areDeploymentsSound } from './deployment-results.ts';
import { runDeployments } from './deployments.ts';
import { deploymentsReport } from './deployments-report.ts';
import { requireDescriptors } from './descriptors.ts';
import { type Options, parseOptions } from './options.ts';
import { page } from './page.ts';
import { report } from './report.ts';
import { isSound } from './results.ts';
import { runBench } from './run.ts';
import { type Workshop, withWorkshop } from './workshop.ts';

const docs = join(import.meta.dir, '../docs');

const options = readOptions();
await withWorkshop(async (workshop) => {
  if (options.comparison !== null) {
    process.stdout.write(`\n${await compare(options.comparison, workshop, progress)}\n`);
  } else if (options.curves !== null) {
    await drawCurves(workshop, options.curves.maxGenerations);
  } else if (options.areDeployments) {
    await compareDeployments(workshop);
  } else {
    await compareSubjects(workshop);
  }
});

async function compareSubjects(workshop: Workshop): Promise<void> {
  const results = await runBench(workshop, options, progress);
  const text = report(results);
  process.stdout.write(`\n${text}\n`);
  for (const line of results.complaints.slice(0, 5)) progress(`the gateway logged: ${line.slice(0, 500)}`);
  if (options.isWritten) writePage({ run: text });
  process.exitCode = isSound(results) ? 0 : 1;
}

async function drawCurves(workshop: Workshop, maxGenerations: number): Promise<void> {
  const curves = await runCurves(workshop, maxGenerations, options, progress);
  const text = curveReport(curves);
  process.stdout.write(`\n${text}\n`);
  if (options.isWritten) {
    for (const [name, svg] of curveFiles(curves)) writeFileSync(join(docs, name), svg);
    writePage({ curves: text });
  }
  process.exitCode = curves.isSound ? 0 : 1;
}

async function compareDeployments(workshop: Workshop): Promise<void> {
  const results = await runDeployments(workshop, options, progress);
  const text = deploymentsReport(results);
  process.stdout.write(`\n${text}\n`);
  if (options.isWritten) writePage({ deployments: text });
  process.exitCode = areDeploymentsSound(results) ? 0 : 1;
}

function writePage(sections: Parameters<typeof page>[1]): void {
  const file = join(docs, 'bench.md');
  writeFileSync(file, page(readFileSync(file, 'utf8'), sections));
}

function readOptions(): Options {
  try {
    const parsed = parseOptions(process.argv.slice(2));
    requireDescriptors(parsed.openStreams);
    return parsed;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exit(2);
  }
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}
