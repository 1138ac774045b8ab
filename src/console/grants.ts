/** What an account has of each category, its grants and its allowances. */
import type { SQL } from 'bun';
import { type Allowance, findAllowances } from '../grants/allowances.ts';
import { type Expiry, findNextExpiries, isToldApart } from '../grants/categories.ts';
import { type Balances, findBalances, findGrants, type Grant } from '../grants/grant-store.ts';
import { presentAllowance, presentExpiry, presentGrant } from '../grants/present.ts';
import { lookUp } from '../http/lookup.ts';
import { presentPage } from '../http/present-page.ts';
import { parseLimit, readQuery } from '../http/query.ts';
import { type GrantCategory, grantCategories } from '../ledger/movements.ts';
import { formatMoney } from '../lib/money.ts';
import { findStanding, requireReader } from './access.ts';
import { parseEntryCursor } from './billing.ts';
import { boundedRead } from './bounded-read.ts';
import type { CategoryBalance, Grants } from './grant-contract.ts';
import type { AccountHandler, Routes } from './guard.ts';

export function grantsPage({ sql }: Readonly<{ sql: SQL }>): Routes<AccountHandler> {
  return {
    '/grants': {
      GET: async (request, { caller }) =>
        await listGrants(request, async (page) => {
          requireReader(await findStanding(sql, caller));
          return await boundedRead(sql, (read) => findAll(read, caller.accountId, page));
        }),
    },
  };
}

const defaultLimit = 50;

type GrantPage = Readonly<{ before: bigint; count: number }>;
type Found = Readonly<{
  isToldApart: boolean;
  balances: Balances;
  expiries: ReadonlyMap<GrantCategory, Expiry>;
  grants: readonly Grant[];
  allowances: readonly Allowance[];
}>;

/** `find` checks who asks. */
export async function listGrants(
  request: Request,
  find: (page: GrantPage) => Promise<Found>,
): Promise<Response> {
  const query = readQuery(request.url, ['limit', 'cursor']);
  const limit = parseLimit(query.get('limit'), defaultLimit);
  const before = parseEntryCursor(query.get('cursor'));
  const found = await lookUp('balance_lookup_failed', () => find({ before, count: limit + 1 }));
  const page = presentPage(found.grants, limit, presentGrant, ({ number }) => `${number}`);
  return Response.json({
    ...page,
    balances: found.isToldApart ? presentCategories(found) : null,
    allowances: found.allowances.map(presentAllowance),
  } satisfies Grants);
}

/** For whoever may see the account. Not in one transaction: what is due is settled, and requests would wait for its end. */
export async function findAll(sql: SQL, accountId: string, page: GrantPage): Promise<Found> {
  const balances = await findBalances(sql, accountId);
  return {
    isToldApart: await isToldApart(sql, accountId),
    balances,
    expiries: await findNextExpiries(sql, accountId),
    grants: await findGrants(sql, accountId, page),
    allowances: await findAllowances(sql, accountId),
  };
}

function presentCategories({ balances, expiries }: Pick<Found, 'balances' | 'expiries'>): CategoryBalance[] {
  return grantCategories.map((category) => {
    const next = expiries.get(category);
    return {
      category,
      amount: formatMoney(balances[category]),
      next_expiry: next === undefined ? null : presentExpiry(next),
    };
  });
}
