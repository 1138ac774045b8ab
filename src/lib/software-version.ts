/** Which version this code is. Read once, because the checkout may be updated while the gateway runs. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootFolder } from './root-folder.ts';

const packageFile = JSON.parse(readFileSync(join(rootFolder, 'package.json'), 'utf8')) as { version: string };

export const softwareVersion = packageFile.version;
export const newestMigration = Math.max(
  ...readdirSync(join(rootFolder, 'migrations'))
    .filter(isMigration)
    .map((name) => Number.parseInt(name, 10)),
);

/** schema.sql, beside them, is only for readers. */
export function isMigration(fileName: string): boolean {
  return /^\d{4}_.+\.sql$/.test(fileName);
}
