/**
 * The account, key and user that the first start on the embedded database creates, so that the printed call works and
 * someone can sign in. The key is stored in the data folder, readable by its owner only, so that every start can print it.
 * The password is not stored: it is shown once.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQL, TransactionSQL } from 'bun';
import { z } from 'zod';
import { insertAccount } from './accounts/account-store.ts';
import { hashKey } from './keys/key-format.ts';
import { createKey, defaultRequestsPerMinute, findKeysByHash } from './keys/key-store.ts';
import { parseMoney } from './lib/money.ts';
import { hashPassword, ownTicket } from './users/password.ts';
import { insertMembership, insertUser } from './users/user-store.ts';

const rememberedSchema = z.object({ account: z.string(), key: z.string() });
type Remembered = Readonly<z.infer<typeof rememberedSchema>>;

/** `password` is null unless the user was just created. */
export type DemoSignIn = Readonly<{ email: string; password: string | null }>;

export type Demo = Readonly<{
  /** Null when it was revoked. */
  key: string | null;
  /** Null when the demo account has other members. */
  signIn: DemoSignIn | null;
}>;

const demoEmail = 'demo@tollgate.local';
const openingCredit = parseMoney('100') ?? 0n;
const demoLock = 7_012_018_003;

/** Null when the database has accounts, but no demo. */
export async function prepareDemo(sql: SQL, dataFolder: string): Promise<Demo | null> {
  const file = join(dataFolder, 'demo.json');
  return await sql.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${demoLock})`;
    const remembered = readDemo(file);
    const [key] = remembered ? await findKeysByHash(transaction, [hashKey(remembered.key)]) : [];
    if (remembered && key)
      return {
        key: key.revokedAt === null ? remembered.key : null,
        signIn: await prepareSignIn(transaction, key.accountId),
      };
    const hasAccounts = (await transaction`select 1 from accounts limit 1`).length > 0;
    if (hasAccounts && remembered === null) return null;
    const created = await createDemo(transaction);
    const signIn = await prepareSignIn(transaction, created.account);
    // Written before the commit: a crash in between leaves a key that does not exist, and the next start creates another
    // one. The other way round the demo would exist without its key.
    writeDemo(file, created);
    return { key: created.key, signIn };
  });
}

function readDemo(file: string): Remembered | null {
  try {
    return rememberedSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return null;
  }
}

function writeDemo(file: string, demo: Remembered): void {
  writeFileSync(`${file}.new`, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

async function createDemo(transaction: TransactionSQL): Promise<Remembered> {
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

/** A demo account without members gets a user, who is also an operator. */
async function prepareSignIn(transaction: TransactionSQL, accountId: string): Promise<DemoSignIn | null> {
  const members = await transaction<{ email: string }[]>`
    select email from memberships join users on users.id = user_id where account_id = ${accountId}`;
  if (members.some(({ email }) => email === demoEmail)) return { email: demoEmail, password: null };
  if (members.length > 0) return null;
  const password = randomBytes(12).toString('base64url');
  const user = await insertUser(transaction, {
    email: demoEmail,
    name: 'Demo',
    passwordHash: await hashPassword(password, ownTicket),
    isOperator: true,
    isEmailVerified: true,
  });
  if (user === null) return null;
  await insertMembership(transaction, user.id, accountId, 'owner');
  return { email: demoEmail, password };
}
