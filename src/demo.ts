/**
 * The account and the key that the first start on the embedded database makes, so that the first call works when
 * pasted. The key is remembered in the data folder, readable by its owner only, so that every start can show it.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQL, TransactionSQL } from 'bun';
import { z } from 'zod';
import { insertAccount } from './accounts/account-store.ts';
import { hashKey } from './keys/key-format.ts';
import { createKey, defaultRequestsPerMinute, findKeyByHash } from './keys/key-store.ts';
import { parseMoney } from './lib/money.ts';

const demoSchema = z.object({ account: z.string(), key: z.string() });
export type Demo = Readonly<z.infer<typeof demoSchema>>;

const openingCredit = parseMoney('100') ?? 0n;
const demoLock = 7_012_018_003;

/** Null when there is none to show: someone else filled this database, or the demo key was revoked. */
export async function prepareDemo(sql: SQL, dataFolder: string): Promise<Demo | null> {
  const file = join(dataFolder, 'demo.json');
  return await sql.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${demoLock})`;
    const remembered = readDemo(file);
    const key = remembered && (await findKeyByHash(transaction, hashKey(remembered.key)));
    if (key) return key.revokedAt === null ? remembered : null;
    const hasAccounts = (await transaction`select 1 from accounts limit 1`).length > 0;
    if (hasAccounts && remembered === null) return null;
    const demo = await createDemo(transaction);
    // Written before the commit: a crash between the two leaves a key that does not exist, which is made anew, and
    // never a demo that nobody remembers.
    writeDemo(file, demo);
    return demo;
  });
}

function readDemo(file: string): Demo | null {
  try {
    return demoSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return null;
  }
}

function writeDemo(file: string, demo: Demo): void {
  writeFileSync(`${file}.new`, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

async function createDemo(transaction: TransactionSQL): Promise<Demo> {
  const { id } = await insertAccount(transaction, 'Demo', openingCredit);
  const created = await createKey(transaction, {
    accountId: id,
    name: 'Demo key',
    requestsPerMinute: defaultRequestsPerMinute,
    monthlyLimit: null,
    allowedModels: null,
    expiresAt: null,
  });
  return { account: id, key: created?.key ?? '' };
}
