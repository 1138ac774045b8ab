/** Accounts: create, read, list, update, suspend, resume. */
import type { SQL } from 'bun';
import { z } from 'zod';
import {
  type AccountState,
  createAccountAs,
  suspendAccountAs,
  updateAccountAs,
} from '../accounts/changes.ts';
import { ApiError } from '../errors.ts';
import { type Balances, findBalances } from '../grants/grant-store.ts';
import { presentBalances } from '../grants/present.ts';
import { amountFrom, bodyOf, line } from '../json/fields.ts';
import { parseBody } from '../json/problem.ts';
import { formatMoney, moneyFromDatabase } from '../lib/money.ts';
import { requirePriceGroup } from '../models/access.ts';
import { accountOf } from './account.ts';
import { type Answer, changing, type Endpoint, type Endpoints, nothing, reading } from './endpoint.ts';
import { etagOf, readPrecondition, requireMatch } from './etag.ts';
import { pageOf, pageParameters, readPage } from './page.ts';
import type { AdminServices } from './services.ts';

const maxMetadataKeys = 50;
const maxMetadataLength = 500;
const metadataWords = `an object with at most ${maxMetadataKeys} texts of at most ${maxMetadataLength} characters`;
const metadataKeyWords =
  'a name of 1 to 40 letters, digits, dots, hyphens and underscores that begins with a letter or a digit';
const externalIdWords = 'a text of 1 to 200 characters without control characters, or null';

const metadata = z
  .record(
    z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$/, metadataKeyWords),
    z
      .string(metadataWords)
      .max(maxMetadataLength, metadataWords)
      .refine((text) => !text.includes('\0'), metadataWords),
    metadataWords,
  )
  .refine((fields) => Object.keys(fields).length <= maxMetadataKeys, metadataWords);
const externalId = z
  .string(externalIdWords)
  .regex(/^\P{Cc}{1,200}$/u, externalIdWords)
  .nullable();

const priceGroupWords = 'the name of a price group of the catalogue, or null';
const priceGroup = z
  .string(priceGroupWords)
  .regex(/^\P{Cc}{1,40}$/u, priceGroupWords)
  .nullable();

export const accountDraftSchema = bodyOf({
  name: line(200),
  external_id: externalId.default(null),
  metadata: metadata.default({}),
  price_group: priceGroup.default(null),
});
export const accountChangeSchema = bodyOf({
  name: line(200).optional(),
  external_id: externalId.optional(),
  metadata: metadata.optional(),
  price_group: priceGroup.optional(),
  low_balance: amountFrom(0n, ', or null').nullable().optional(),
});

/** zod leaves out this name without a word, and what a client sends must not get lost. */
function withoutPrototype(body: unknown): unknown {
  const fields = (body as { metadata?: unknown }).metadata;
  if (typeof fields === 'object' && fields !== null && Object.hasOwn(fields, '__proto__'))
    throw new ApiError('invalid_parameter', {
      param: 'metadata.__proto__',
      message: `metadata.__proto__ is invalid: expected ${metadataKeyWords}.`,
    });
  return body;
}

export function accountEndpoints({ sql, deriveKey, catalog }: AdminServices): Endpoints {
  const cursorKey = deriveKey('admin cursor');
  return {
    '/accounts': {
      GET: reading({
        scope: 'read',
        query: pageParameters,
        read: async ({ query }) => {
          const page = readPage(query, ['accounts'], cursorKey);
          const rows = await findAccounts(sql, null, page.before, page.limit + 1);
          const accounts = await withBalances(sql, rows);
          return { body: pageOf(accounts, page, presentAccount, ({ id }) => id) };
        },
      }),
      POST: changing({
        scope: 'accounts',
        parse: (body) => parseBody(accountDraftSchema, withoutPrototype(body)),
        change: async (transaction, { actor, body }) => {
          const { name, external_id: newExternalId, metadata: fields, price_group: group } = body;
          requirePriceGroup(catalog(), group);
          const draft = {
            name,
            externalId: newExternalId,
            metadata: fields,
            priceGroup: group,
            credit: 0n,
          };
          const id = await createAccountAs(transaction, actor, draft);
          return { status: 201, ...(await showAccount(transaction, id)) };
        },
      }),
    },
    '/accounts/:account': {
      GET: reading({
        scope: 'read',
        read: async (call) => await showAccount(sql, await accountOf(sql, call)),
      }),
      PATCH: changing({
        scope: 'accounts',
        parse: (body) => parseBody(accountChangeSchema, withoutPrototype(body)),
        change: async (transaction, call) => {
          const { actor, body, headers } = call;
          const precondition = readPrecondition(headers);
          const id = await accountOf(transaction, call);
          requirePriceGroup(catalog(), body.price_group ?? null);
          const change = {
            name: body.name,
            externalId: body.external_id,
            metadata: body.metadata,
            priceGroup: body.price_group,
            lowBalance: body.low_balance,
          };
          await updateAccountAs(transaction, actor, id, change, (current) =>
            requireMatch(precondition, accountTag(current)),
          );
          return await showAccount(transaction, id);
        },
      }),
    },
    '/accounts/:account/suspend': { POST: suspension(true) },
    '/accounts/:account/resume': { POST: suspension(false) },
  };
}

function suspension(isSuspended: boolean): Endpoint {
  return changing({
    scope: 'accounts',
    parse: nothing,
    change: async (transaction, call) => {
      const id = await accountOf(transaction, call);
      await suspendAccountAs(transaction, call.actor, id, isSuspended);
      return await showAccount(transaction, id);
    },
  });
}

async function showAccount(sql: SQL, id: string): Promise<Answer> {
  const account = await findAccount(sql, id);
  return { body: presentAccount(account), etag: accountTag(account) };
}

/** Grants that are due are settled first, so that the balance is what is left of them. */
async function findAccount(sql: SQL, id: string): Promise<Account> {
  const balances = await findBalances(sql, id);
  const [row] = await findAccounts(sql, id, null, 1);
  if (row === undefined) throw new ApiError('account_not_found');
  return { ...row, balances };
}

/** Each that has grants by statements of its own, because settling them locks the account. */
async function withBalances(sql: SQL, rows: readonly AccountRow[]): Promise<Account[]> {
  const accounts: Account[] = [];
  for (const row of rows) {
    const plain = { paid: moneyFromDatabase(row.balance), promotional: 0n, allowance: 0n };
    accounts.push(row.has_grants ? await findAccount(sql, row.id) : { ...row, balances: plain });
  }
  return accounts;
}

function accountTag({ metadata: fields, ...state }: AccountState): string {
  const { name, external_id, price_group, low_balance, is_suspended } = state;
  const inOrder = Object.entries(fields).toSorted();
  return etagOf({ name, external_id, metadata: inOrder, price_group, low_balance, is_suspended });
}

type AccountRow = AccountState &
  Readonly<{
    id: string;
    balance: string;
    held: string;
    month_spent: string;
    keys_in_force: number;
    members: number;
    created_at: Date;
    /** Whether its money is told apart. */
    has_grants: boolean;
  }>;

type Account = AccountRow & Readonly<{ balances: Balances }>;

/** The newest before a position, or only the one with this ID. */
async function findAccounts(
  sql: SQL,
  id: string | null,
  before: string | null,
  rowCount: number,
): Promise<AccountRow[]> {
  return await sql<AccountRow[]>`
    select account.id, name, external_id, coalesce(metadata, '{}') as metadata, price_group, low_balance, is_suspended, balance, held, month_spent,
           keys_in_force, members, created_at,
           (select grants_due_at is not null from accounts where accounts.id = account.id) as has_grants
    from account_overviews as account left join account_details on account_id = account.id
    where (${id}::uuid is null or account.id = ${id}::uuid) and (${before}::uuid is null or account.id < ${before}::uuid)
    order by account.id desc limit ${rowCount}::int`;
}

function presentAccount(row: Account) {
  const { id, external_id, name, metadata: fields, price_group, is_suspended, balance, held } = row;
  const { low_balance, month_spent, keys_in_force, members, created_at } = row;
  return {
    object: 'account',
    id,
    external_id,
    name,
    metadata: fields,
    price_group,
    low_balance,
    is_suspended,
    balance,
    held,
    available: formatMoney(moneyFromDatabase(balance) - moneyFromDatabase(held)),
    balances: presentBalances(row.balances),
    month_spent,
    keys_in_force,
    members,
    created_at: created_at.toISOString(),
  };
}
