/**
 * npm run licenses
 *
 * Prints the licence of every package that production uses, optional ones included, and fails for one that is not on the
 * list. Reads package-lock.json alone, so it needs neither the network nor an installation.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Permissive ones, which only require that their text is included. */
const allowed = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'PostgreSQL',
  'Unlicense',
]);

const lockFile = process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), '..', 'package-lock.json');
const { packages } = JSON.parse(readFileSync(lockFile, 'utf8'));
const rows = Object.entries(packages)
  // The empty path is the project itself.
  .filter(([path, { dev }]) => path !== '' && !dev)
  .map(([path, { version, license }]) => ({
    name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
    version,
    license: license ?? 'none stated',
  }))
  .sort((left, right) => left.license.localeCompare(right.license) || left.name.localeCompare(right.name));

const width = Math.max(0, ...rows.map(({ license }) => license.length));
for (const { name, version, license } of rows)
  console.log(`${isAllowed(license) ? ' ' : '✗'} ${license.padEnd(width)}  ${name} ${version}`);
const refused = rows.filter(({ license }) => !isAllowed(license));
console.log(`\n${rows.length} packages, ${refused.length} with a licence that is not allowed.`);
if (refused.length > 0) process.exitCode = 1;

/** For "OR" one must be allowed, for "AND" all. */
function isAllowed(expression) {
  const alternatives = expression.replace(/[()]/g, '').split(' OR ');
  return alternatives.some((all) => all.split(' AND ').every((license) => allowed.has(license.trim())));
}
