/**
 * The account, key and user that the first start on the embedded database creates, so that the printed call works and
 * someone can sign in. The key is stored in the data folder, readable by its owner only, so that every start can print it.
 * The password is not stored: it is shown once.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ReservedSQL, SQL, TransactionSQL } from 'bun';
import { z } from 'zod';
import { insertAccount } from './accounts/account-store.ts';
import { generateKey, hashKey } from './keys/key-format.ts';
import { createKey, defaultRequestsPerMinute, findKeysByHash } from './keys/key-store.ts';
import { newId } from './lib/ids.ts';
import { parseMoney } from './lib/money.ts';
import { hashPassword, ownTicket } from './people/password.ts';
import { insertMembership, insertUser } from './people/user-store.ts';

const rememberedSchema = z.object({ account: z.string(), key: z.string() });
type Remembered = Readonly<z.infer<typeof rememberedSchema>>;

/** `password` is null unless the user was just created. */
export type DemoSignIn = Readonly<{ email: string; password: string | null }>;

export type Demo = Readonly<{
  accountId: string;
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
  const connection = await sql.reserve();
  try {
    // A lock of the session, not of a transaction: on a busy machine a password takes seconds to hash and a file to
    // write, and the database ends a transaction that waits for so long.
    await connection`select pg_advisory_lock(${demoLock})`;
    return await prepareAlone(connection, join(dataFolder, 'demo.json'));
  } finally {
    await connection`select pg_advisory_unlock(${demoLock})`.catch(() => undefined);
    await connection.release();
  }
}

async function prepareAlone(connection: ReservedSQL, file: string): Promise<Demo | null> {
  const remembered = readDemo(file);
  const [key] = remembered ? await findKeysByHash(connection, [hashKey(remembered.key)]) : [];
  if (remembered && key)
    return {
      accountId: key.accountId,
      key: key.revokedAt === null ? remembered.key : null,
      signIn: await prepareSignIn(connection, key.accountId),
    };
  const hasAccounts = (await connection`select 1 from accounts limit 1`).length > 0;
  if (hasAccounts && remembered === null) return null;
  const created = { account: newId(), key: generateKey() };
  const password = await newPassword();
  // Written before the database knows of it: a crash in between leaves a key that does not exist, and the next start
  // creates another one. The other way round the demo would exist without its key.
  writeDemo(file, created);
  return await connection.begin(async (transaction) => {
    await insertAccount(transaction, 'Demo', openingCredit, created.account);
    await createKey(
      transaction,
      {
        accountId: created.account,
        name: 'Demo key',
        requestsPerMinute: defaultRequestsPerMinute,
        monthlyLimit: null,
        allowedModels: null,
        expiresAt: null,
      },
      created.key,
    );
    const signIn = await addUser(transaction, created.account, password);
    return { accountId: created.account, key: created.key, signIn };
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

/** A demo account without members gets a user. */
async function prepareSignIn(connection: ReservedSQL, accountId: string): Promise<DemoSignIn | null> {
  const members = await connection<{ email: string }[]>`
    select email from memberships join users on users.id = user_id where account_id = ${accountId}`;
  if (members.some(({ email }) => email === demoEmail)) return { email: demoEmail, password: null };
  if (members.length > 0) return null;
  const password = await newPassword();
  return await connection.begin((transaction) => addUser(transaction, accountId, password));
}

type NewPassword = Readonly<{ text: string; hash: string }>;

async function newPassword(): Promise<NewPassword> {
  const text = randomBytes(12).toString('base64url');
  return { text, hash: await hashPassword(text, ownTicket) };
}

/** The user is also an operator. Null when the address is taken. */
async function addUser(
  transaction: TransactionSQL,
  accountId: string,
  password: NewPassword,
): Promise<DemoSignIn | null> {
  const user = await insertUser(transaction, {
    email: demoEmail,
    name: 'Demo',
    passwordHash: password.hash,
    isOperator: true,
    isEmailVerified: true,
  });
  if (user === null) return null;
  await insertMembership(transaction, user.id, accountId, 'owner');
  return { email: demoEmail, password: password.text };
}
