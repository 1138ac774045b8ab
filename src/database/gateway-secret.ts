/**
 * The secret that signs and encrypts what leaves the gateway or is stored in the database. Every node needs the same one.
 * The operator sets it, or it is generated once: in the data folder next to the embedded database, or in the shared
 * database, where it protects less because it is next to what it encrypts.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQL } from 'bun';
import type { Config } from '../config.ts';
import { OperatorError } from '../lib/operator-error.ts';

const minSecret = 32;

export async function findSecret({ authSecret, databaseUrl, dataFolder }: Config, sql: SQL): Promise<string> {
  if (authSecret !== null) return authSecret;
  return databaseUrl === null ? secretInFolder(dataFolder) : await secretInDatabase(sql);
}

function secretInFolder(dataFolder: string): string {
  const file = join(dataFolder, 'secret');
  try {
    const secret = readFileSync(file, 'utf8').trim();
    if (secret.length >= minSecret) return secret;
    throw new OperatorError(`${file} is truncated. Restore the file, or remove it to generate a new secret.`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const secret = newSecret();
    writeFileSync(`${file}.new`, secret, { mode: 0o600 });
    renameSync(`${file}.new`, file);
    return secret;
  }
}

/** The first node generates it; all others read it. */
async function secretInDatabase(sql: SQL): Promise<string> {
  await sql`insert into gateway_secret (secret) values (${newSecret()}) on conflict do nothing`;
  const [{ secret }] = await sql<[{ secret: string }]>`select secret from gateway_secret`;
  return secret;
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}
