/**
 * npm run chaos -- --expect NAMES: what clients notice of restarts, and of a database in trouble. Each measurement gives
 * rows of one table. Only the ledger is judged; the figures are for operators who plan with them.
 */
import { connectionLimit, fullDisk, laggingReplica, pgbouncer } from './databases.ts';
import { type Form, formatRows, type Measurement, programNamed, type Row } from './measurement.ts';
import { executable, killedWorkers } from './processes.ts';
import { rolling } from './rolling.ts';

const measurements: readonly Measurement[] = [
  rolling('haproxy'),
  rolling('nginx'),
  pgbouncer,
  laggingReplica,
  connectionLimit,
  fullDisk,
  killedWorkers,
  executable,
];

export const expectationNames: readonly string[] = measurements.map(({ name }) => name);

/** A run ends after this time, whatever hangs. */
const maxRunMs = 3_600_000;

/** Returns the exit code: 1 when something could not be measured, or the ledger is not sound. */
export async function runExpectations(names: readonly string[], form: Form): Promise<number> {
  const giveUp = setTimeout(() => {
    console.log('The run was stopped because it took more than an hour.');
    process.exit(1);
  }, maxRunMs);
  const rows: Row[] = [];
  const problems: string[] = [];
  for (const { name, needs, run } of measurements.filter((one) => names.includes(one.name))) {
    const missing = needs.filter((program) => programNamed(program) === null);
    if (missing.length > 0) {
      problems.push(`${name} was left out: ${missing.join(', ')} is not installed.`);
      continue;
    }
    console.log(`— ${name}`);
    try {
      rows.push(...(await run(form)));
    } catch (error) {
      // The others are still measured.
      problems.push(`${name} failed: ${error instanceof Error ? error.message : error}`);
    }
  }
  clearTimeout(giveUp);
  console.log(`\n${formatRows(rows)}`);
  for (const problem of problems) console.log(problem);
  return problems.length === 0 && rows.every(({ isSound }) => isSound) ? 0 : 1;
}
