/** Accounts that were here before an import: what it adds to them, and what it leaves as it is. */
import type { SQL } from 'bun';
import { OperatorError } from '../lib/operator-error.ts';
import { type Limit, listLimits, maxLimitsOfAccount } from '../limits/limit-store.ts';
import type { PlannedAccount, PlannedLimit } from './plan.ts';
import { DroppedList, describeLimit } from './settings.ts';

export type ExistingLimit = PlannedLimit & Pick<Limit, 'scope' | 'setBy'>;

export type ExistingAccount = Readonly<{
  id: string;
  isSuspended: boolean;
  limits: readonly ExistingLimit[];
}>;

export async function findAccount(
  sql: SQL,
  { target, limits }: PlannedAccount,
): Promise<ExistingAccount | null> {
  const id = 'accountId' in target ? target.accountId : await idOf(sql, target.externalId);
  if (id === null) return null;
  const [row] = await sql<{ isSuspended: boolean }[]>`
    select suspended_at is not null as "isSuspended" from accounts where id = ${id}`;
  if (row === undefined)
    throw new OperatorError(`There is no account ${id}. List them with: tollgate account list`);
  return { id, ...row, limits: limits.length === 0 ? [] : await listLimits(sql, id) };
}

async function idOf(sql: SQL, externalId: string): Promise<string | null> {
  const [row] = await sql<{ id: string }[]>`
    select account_id as id from account_details where external_id = ${externalId}`;
  return row?.id ?? null;
}

export type Fitted = Readonly<{
  /** With the limits that it does not have yet, and without what an existing account does not get. */
  account: PlannedAccount;
  /** Why it gets no new keys; null if it gets them. */
  refusal: string | null;
  /** How many of its limits it has already. */
  limitsFound: number;
  dropped: DroppedList;
}>;

/** A limit of the account or of one of its end users, once it is made. */
export function asMade(planned: PlannedLimit): ExistingLimit {
  return { ...planned, scope: scopeOf(planned), setBy: 'operator' };
}

/** Limits that the operator has set stay as they are, and nobody is suspended who may be in use here. */
export function fitAccount(account: PlannedAccount, existing: ExistingAccount, now: Date): Fitted {
  const dropped = new DroppedList();
  const subject = `account ${account.name}`;
  const ofOperator = new Map(
    existing.limits.filter(({ setBy }) => setBy === 'operator').map((limit) => [placeOf(limit), limit]),
  );
  let limitsFound = 0;
  const missing = account.limits.filter((planned) => {
    const same = ofOperator.get(placeOf(asMade(planned)));
    if (same !== undefined) {
      limitsFound += 1;
      if (isLooser(same, planned, now))
        dropped.detail(
          subject,
          `${describeLimit(same)} is the limit here, which stays and is looser than ${wordsOf(planned)}`,
        );
      return false;
    }
    // The limit of one end user would replace that of each.
    const each = ofOperator.get(placeOf({ scope: 'each_end_user', endUser: null, kind: planned.kind }));
    if (planned.endUser === null || each === undefined || isLooser(each, planned, now)) return true;
    dropped.detail(
      subject,
      `${describeLimit(planned)} is not set: the limit of each end user here, ${wordsOf(each)}, is as strict`,
    );
    return false;
  });
  const isFull = missing.length > 0 && existing.limits.length + missing.length > maxLimitsOfAccount;
  if (isFull) dropped.detail(subject, `${missing.length} limits: an account may have ${maxLimitsOfAccount}`);
  return {
    account: {
      ...{ ...account, isSuspended: existing.isSuspended, members: [] },
      limits: isFull ? [] : missing,
    },
    refusal: refusalOf(account, existing, isFull),
    limitsFound,
    dropped,
  };
}

function refusalOf(
  { name, isSuspended }: PlannedAccount,
  existing: ExistingAccount,
  isFull: boolean,
): string | null {
  if (isSuspended && !existing.isSuspended)
    return `its account ${name} would be suspended, but exists already and is not: suspend it (${existing.id}) in the dashboard or through the admin API first`;
  return isFull ? `its account ${name} has too many limits` : null;
}

function scopeOf({ endUser }: PlannedLimit): 'account' | 'end_user' {
  return endUser === null ? 'account' : 'end_user';
}

function placeOf({ scope, endUser, kind }: Pick<Limit, 'scope' | 'endUser' | 'kind'>): string {
  return JSON.stringify([scope, endUser, kind]);
}

/** Now or later. */
function isLooser(one: PlannedLimit, other: PlannedLimit, now: Date): boolean {
  const most = ({ amount, increase }: PlannedLimit) =>
    increase === null || increase.until <= now ? amount : amount + increase.amount;
  return one.amount > other.amount || most(one) > most(other);
}

function wordsOf(limit: PlannedLimit): string {
  return describeLimit({ ...limit, endUser: null });
}
