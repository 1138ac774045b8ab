/**
 * npm run test:operations [-- PART-OF-A-NAME …]
 *
 * Runs tests/operations/*.operations.ts, which take too long for npm test or need other programs. A file names each program
 * in its opening comment, as a line: Needs `program`: how to install it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dir, '..');
const folder = join(root, 'tests/operations');
const wanted = process.argv.slice(2);
const files = readdirSync(folder)
  .filter((name) => name.endsWith('.operations.ts'))
  .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
  .toSorted();

const missing = files.flatMap((name) =>
  needsOf(join(folder, name))
    .filter(({ program }) => !isInstalled(program))
    .map(({ program, remedy }) => `${name} needs ${program}: ${remedy}`),
);
for (const line of missing) process.stderr.write(`${line}\n`);
if (files.length === 0) process.stderr.write('There is no such file in tests/operations.\n');
if (missing.length > 0 || files.length === 0) process.exit(1);

// One after the other: some of them measure, and some need most of the machine.
const failed = files.filter((name) => {
  process.stdout.write(`\n— ${name}\n`);
  const command = [process.execPath, 'test', `./tests/operations/${name}`, '--timeout', '300000'];
  return Bun.spawnSync(command, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] }).exitCode !== 0;
});
process.stdout.write(`\n${files.length - failed.length} passed, ${failed.length} failed\n`);
for (const name of failed) process.stdout.write(`failed: ${name}\n`);
process.exit(failed.length === 0 ? 0 : 1);

function needsOf(file: string): { program: string; remedy: string }[] {
  const [comment = ''] = readFileSync(file, 'utf8').split('*/');
  return [...comment.matchAll(/Needs `([^`]+)`[^:]*: (.+)/g)].map(([, program = '', remedy = '']) => ({
    program,
    remedy,
  }));
}

/** Debian keeps PostgreSQL's programs in a folder per version, and daemons outside the users' PATH. */
function isInstalled(program: string): boolean {
  if (program.startsWith('/')) return Bun.file(program).size > 0;
  return Bun.which(program) !== null || Bun.which(program, { PATH: '/usr/sbin:/usr/local/sbin' }) !== null;
}
