/**
 * Makes what was planned, with the functions that the admin API uses. Each account and each key is one transaction, and is
 * found again by its external ID or its hash: a run that was interrupted can be repeated, and a second run makes nothing.
 */
import type { SQL, TransactionSQL } from 'bun';
import { createAccountAs, suspendAccountAs } from '../accounts/changes.ts';
import { type Actor, recordChange } from '../audit-log/audit-log.ts';
import { ApiError } from '../errors.ts';
import { importKeyAs } from '../keys/key-changes.ts';
import { findKeysByHash } from '../keys/key-store.ts';
import { type Booked, book, isBooked, type Movement, preview, type Refused } from '../ledger/movements.ts';
import { refusalOf } from '../ledger/refusals.ts';
import { formatMoneyShort } from '../lib/money.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { addMemberAs } from '../people/members.ts';
import { describeNewUser, findUserByEmail, insertUser, nameFrom, type Role } from '../people/user-store.ts';
import { asMade, type ExistingAccount, type ExistingLimit, findAccount, fitAccount } from './existing.ts';
import { type CreateLimit, createLimits } from './limits.ts';
import type { Dropped, Plan, PlannedAccount, PlannedKey } from './plan.ts';

/** How many were made, and how many were there before. */
export type Made = {
  accounts: number;
  accountsFound: number;
  keys: number;
  keysFound: number;
  /** Of accounts, end users and keys. */
  limits: number;
  /** Of accounts and end users. */
  limitsFound: number;
  credits: number;
  creditsFound: number;
  /** New users. */
  people: number;
  /** The accounts that were there before, to be checked: another one might have the same external ID. */
  existing: string[];
  /** The plan without what accounts that were there before do not get, and what that is. */
  planned: PlannedAccount[];
  dropped: Dropped[];
  warnings: string[];
};

export async function applyPlan(
  sql: SQL,
  actor: Actor,
  plan: Plan,
  createLimit: CreateLimit | null,
): Promise<Made> {
  const hasLimits = plan.accounts.some(
    ({ limits, keys }) => limits.length > 0 || keys.some((key) => key.limits.length > 0),
  );
  if (hasLimits && createLimit === null)
    throw new OperatorError('This gateway cannot store the limits of the plan. Nothing was imported.');
  const made = nothingMade();
  for (const account of plan.accounts) {
    const { accountId, existing } = await shortTransaction(sql, (transaction) =>
      makeAccount(transaction, actor, account, createLimit, made),
    ).catch(inWords);
    const fitted = fit(account, existing, made);
    // Before the keys, so that none is ever valid without them.
    if (existing !== null && createLimit !== null)
      await addLimits(sql, actor, accountId, fitted.account, createLimit, made);
    const keys = await keysToMake(sql, accountId, fitted, made);
    await makeKeys(sql, actor, plan, accountId, keys, createLimit, made);
  }
  return made;
}

/** What `applyPlan` would make. Nothing is written. */
export async function previewPlan(sql: SQL, actor: Actor, plan: Plan): Promise<Made> {
  const made = nothingMade();
  /** By account: `--account` may name one that a team becomes, too. */
  const madeBefore = new Map<string, ExistingLimit[]>();
  for (const account of plan.accounts) {
    const found = await findAccount(sql, account);
    const before = madeBefore.get(found?.id ?? '') ?? [];
    const existing = found && { ...found, limits: [...found.limits, ...before] };
    const accountId = existing?.id ?? null;
    const movement = creditOf(accountId, account);
    if (movement !== null) countCredit(await preview(sql, actor, movement), account, made);
    else if (account.credit !== null) made.credits += 1;
    const fitted = fit(account, existing, made);
    if (accountId !== null) madeBefore.set(accountId, [...before, ...fitted.account.limits.map(asMade)]);
    for (const { email } of fitted.account.members)
      made.people += (await findUserByEmail(sql, email)) === null ? 1 : 0;
    for (const { limits } of await keysToMake(sql, accountId, fitted, made)) countKey(limits.length, made);
  }
  return made;
}

function nothingMade(): Made {
  return {
    ...{ accounts: 0, accountsFound: 0, keys: 0, keysFound: 0, limits: 0, limitsFound: 0 },
    ...{ credits: 0, creditsFound: 0, people: 0 },
    ...{ existing: [], planned: [], dropped: [], warnings: [] },
  };
}

type ToMake = Readonly<{ account: PlannedAccount; refusal: string | null }>;

/** Counts the account and its limits. */
function fit(account: PlannedAccount, existing: ExistingAccount | null, made: Made): ToMake {
  if (existing === null) {
    made.accounts += 1;
    made.limits += account.limits.length;
    return { account, refusal: null };
  }
  const { dropped, limitsFound, ...fitted } = fitAccount(account, existing, new Date());
  made.accountsFound += 1;
  made.existing.push(`${account.name} (${existing.id})`);
  made.limits += fitted.account.limits.length;
  made.limitsFound += limitsFound;
  made.dropped.push(...dropped.all);
  return fitted;
}

/** An account that exists gets the credit if that was not given before. */
async function makeAccount(
  transaction: TransactionSQL,
  actor: Actor,
  account: PlannedAccount,
  createLimit: CreateLimit | null,
  made: Made,
): Promise<Readonly<{ accountId: string; existing: ExistingAccount | null }>> {
  // One after the other: of two imports at the same time, the second finds the account.
  await transaction`select pg_advisory_xact_lock(hashtextextended(${`import ${JSON.stringify(account.target)}`}, 0))`;
  const existing = await findAccount(transaction, account);
  const accountId = existing?.id ?? (await createAccount(transaction, actor, account, createLimit, made));
  const movement = creditOf(accountId, account);
  // Last, because requests of the account wait while its row is locked.
  if (movement !== null) countCredit(await book(transaction, actor, movement), account, made);
  return { accountId, existing };
}

async function createAccount(
  transaction: TransactionSQL,
  actor: Actor,
  account: PlannedAccount,
  createLimit: CreateLimit | null,
  made: Made,
): Promise<string> {
  const { name, target, priceGroup, members, limits, isSuspended } = account;
  const externalId = 'externalId' in target ? target.externalId : null;
  const accountId = await createAccountAs(transaction, actor, { name, credit: 0n, externalId, priceGroup });
  for (const { email, role } of members) await addPerson(transaction, actor, accountId, email, role, made);
  if (createLimit !== null)
    await createLimits(transaction, actor, createLimit, limits, { accountId, keyId: null });
  if (isSuspended) await suspendAccountAs(transaction, actor, accountId, true);
  return accountId;
}

/** People who are new here choose a password through a link that is sent to their address. */
async function addPerson(
  transaction: TransactionSQL,
  actor: Actor,
  accountId: string,
  email: string,
  role: Role,
  made: Made,
): Promise<void> {
  const name = nameFrom(email);
  const created = await insertUser(transaction, {
    ...{ email, name, passwordHash: null, isOperator: false, isEmailVerified: true },
  });
  if (created !== null) {
    made.people += 1;
    await recordChange(transaction, actor, {
      action: 'create_user',
      object: { type: 'user', id: created.id },
      after: describeNewUser({ email, isOperator: false, accountId: null, role }),
    });
  }
  const user = created ?? (await findUserByEmail(transaction, email));
  if (user !== null) await addMemberAs(transaction, actor, accountId, user.id, role);
}

/** One by one, because requests of the account wait meanwhile. */
async function addLimits(
  sql: SQL,
  actor: Actor,
  accountId: string,
  { limits }: PlannedAccount,
  createLimit: CreateLimit,
  made: Made,
): Promise<void> {
  for (const limit of limits)
    await shortTransaction(sql, (transaction) =>
      createLimits(transaction, actor, createLimit, [limit], { accountId, keyId: null }),
    ).catch((error: unknown) => {
      if (!(error instanceof ApiError && error.code === 'limit_exists')) return inWords(error);
      // Someone else has just set it.
      made.limits -= 1;
      made.limitsFound += 1;
    });
}

/** What the functions that all doors share refuse, without the form of an HTTP error. */
function inWords(error: unknown): never {
  throw error instanceof ApiError ? new OperatorError(error.message) : error;
}

function creditOf(accountId: string | null, { credit }: PlannedAccount): Movement | null {
  return accountId === null || credit === null ? null : { kind: 'credit', accountId, ...credit };
}

function countCredit(result: Booked | Refused, { name }: PlannedAccount, made: Made): void {
  if (isBooked(result)) made[result.outcome === 'booked' ? 'credits' : 'creditsFound'] += 1;
  else if (result.outcome === 'different') {
    made.creditsFound += 1;
    made.warnings.push(
      `Account ${name} was credited ${formatMoneyShort(result.earlier)} USD by an earlier import: nothing was added.`,
    );
  } else throw new OperatorError(refusalOf(result).message);
}

async function makeKeys(
  sql: SQL,
  actor: Actor,
  { source }: Plan,
  accountId: string,
  keys: readonly PlannedKey[],
  createLimit: CreateLimit | null,
  made: Made,
): Promise<void> {
  for (const { hash, hint, revokedAt, settings, limits } of keys) {
    const imported = { hash, hint, source, revokedAt };
    const keyId = await shortTransaction(sql, async (transaction) => {
      const id = await importKeyAs(transaction, actor, accountId, settings, imported);
      if (id !== null && createLimit !== null)
        await createLimits(transaction, actor, createLimit, limits, { accountId, keyId: id });
      return id;
    }).catch(inWords);
    if (keyId === null) made.keysFound += 1;
    else countKey(limits.length, made);
  }
}

function countKey(limits: number, made: Made): void {
  made.keys += 1;
  made.limits += limits;
}

/** Those that are not known yet, unless the account gets none. */
async function keysToMake(
  sql: SQL,
  accountId: string | null,
  { account, refusal }: ToMake,
  made: Made,
): Promise<PlannedKey[]> {
  const unknown = await newKeys(sql, accountId, account.keys, made);
  if (refusal === null) {
    made.planned.push(account);
    return unknown;
  }
  const refused = new Set(unknown);
  for (const { settings, hint } of unknown)
    made.dropped.push({ what: 'key', subject: `key ${settings.name} ${hint}`, reason: refusal });
  made.planned.push({ ...account, keys: account.keys.filter((key) => !refused.has(key)) });
  return [];
}

const lookupSize = 1_000;

/** Those that are not known yet; the others are counted. A key that belongs to another account stays there. */
async function newKeys(
  sql: SQL,
  accountId: string | null,
  keys: readonly PlannedKey[],
  made: Made,
): Promise<PlannedKey[]> {
  const unknown: PlannedKey[] = [];
  for (let from = 0; from < keys.length; from += lookupSize) {
    const part = keys.slice(from, from + lookupSize);
    const found = await findKeysByHash(
      sql,
      part.map(({ hash }) => hash),
    );
    for (const [place, key] of part.entries()) {
      const known = found[place] ?? null;
      if (known === null) unknown.push(key);
      else made.keysFound += 1;
      if (known !== null && known.accountId !== accountId)
        made.warnings.push(
          `Key ${key.settings.name} ${key.hint} belongs to account ${known.accountId} and stays there.`,
        );
    }
  }
  return unknown;
}
