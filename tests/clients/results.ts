/** The last result of each client, kept for tables that are made of several runs. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clients } from './clients.ts';
import type { Result } from './matrix.ts';
import { cacheFolder } from './prepare.ts';

const folder = join(cacheFolder, 'results');
const fileOf = (name: string) => join(folder, `${name.replaceAll(/[^\w.-]+/g, '-')}.json`);

export function remember(result: Result): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(fileOf(result.name), JSON.stringify(result));
}

/** In the order of the list; those of another version are left out. */
export function lastResults(): Result[] {
  return clients.flatMap(({ name, version }) => {
    if (!existsSync(fileOf(name))) return [];
    const result = JSON.parse(readFileSync(fileOf(name), 'utf8')) as Result;
    return version === null || result.version === version ? [result] : [];
  });
}
