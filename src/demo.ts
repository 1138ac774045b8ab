/**
 * The account, key and sign-in that the first start on the embedded database makes, so that the first call works
 * when pasted. The key is remembered in the data folder, readable by its owner only, so that every start can show it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQL } from 'bun';
import { z } from 'zod';
import { createAccount } from './accounts/account-store.ts';
import { createKey, defaultRequestsPerMinute } from './keys/key-store.ts';
import { parseMoney } from './lib/money.ts';
import { createUser } from './users/user-store.ts';

const rememberedSchema = z.object({ account: z.string(), key: z.string() });
type Remembered = Readonly<z.infer<typeof rememberedSchema>>;

/** The sign-in is known only on the start that made it. */
export type Demo = Remembered & Readonly<{ signIn: { email: string; password: string } | null }>;

const openingCredit = parseMoney('100') ?? 0n;
const demoLock = 7_012_018_003;

/** Null when this database was filled by someone else, who needs no demo. */
export async function prepareDemo(sql: SQL, dataFolder: string): Promise<Demo | null> {
  const file = join(dataFolder, 'demo.json');
  return await sql.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${demoLock})`;
    const remembered = readDemo(file);
    if (remembered) return { ...remembered, signIn: null };
    const hasAccounts = (await transaction`select 1 from accounts limit 1`).length > 0;
    if (hasAccounts) return null;
    const { account, key, signIn } = await createDemo(sql);
    writeFileSync(file, `${JSON.stringify({ account, key }, null, 2)}\n`, { mode: 0o600 });
    return { account, key, signIn };
  });
}

function readDemo(file: string): Remembered | null {
  try {
    return rememberedSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return null;
  }
}

async function createDemo(sql: SQL): Promise<Demo> {
  const email = 'demo@tollgate.local';
  const password = Buffer.from(crypto.getRandomValues(new Uint8Array(12))).toString('base64url');
  const { id } = await createAccount(sql, 'Demo', openingCredit);
  const created = await createKey(sql, {
    accountId: id,
    name: 'Demo key',
    requestsPerMinute: defaultRequestsPerMinute,
    monthlyLimit: null,
    allowedModels: null,
    expiresAt: null,
  });
  await createUser(sql, { email, password, isOperator: true, accountId: id });
  return { account: id, key: created?.key ?? '', signIn: { email, password } };
}
