/**
 * Finds anything by a few characters: for members what their account has, for operators what the gateway has. Whoever types
 * asks with every pause, so each part reads an index, or a bounded number of rows.
 */
import type { SQL } from 'bun';
import { lookUp } from '../http/lookup.ts';
import { invalidQuery, readQuery } from '../http/query.ts';
import { isUuid } from '../lib/ids.ts';
import { accessTo, type CallableModel, callableModels } from '../models/access.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';
import {
  type Caller,
  type OperatorReader,
  operatorOnly,
  readableAccount,
  rowsForOperator,
  rowsForReader,
} from './access.ts';
import { boundedRead } from './bounded-read.ts';
import type { AccountFindings, FoundModel, FoundProvider, OperatorFindings } from './find-contract.ts';
import type { AccountHandler, ConsoleHandler, Routes } from './guard.ts';
import { patternOf } from './operator/list.ts';

const maxTextLength = 200;
const maxOfAKind = 8;
/** Of accounts, people and keys of anybody, the newest so many are looked at. */
const maxScanned = 20_000;
/** How many different labels from the text on are looked at: in some locales others are between those that match. */
const maxLabels = 40;
/** Of end users or sessions with each of their accounts. */
const maxOwned = 20;
/** How many requests of a label are asked for their accounts, the newest first. */
const maxRequests = 500;
const failure = 'internal_error';

const firstId = '00000000-0000-0000-0000-000000000000';
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

type Kind = 'end_user' | 'session';

type FindServices = Readonly<{ reads: () => SQL; catalog: () => ActiveCatalog }>;

export function findPage({ reads, catalog }: FindServices): Routes<AccountHandler> {
  return {
    '/find': {
      GET: async (request, { caller }) => {
        const text = readText(request.url);
        const found = await lookUp(failure, () =>
          boundedRead(reads(), (read) => findInAccount(read, caller, text)),
        );
        return Response.json({ ...found, models: findModels(catalog(), text) } satisfies AccountFindings);
      },
    },
  };
}

export function operatorFindPage({ reads, catalog }: FindServices): Routes<ConsoleHandler> {
  return {
    '/find': {
      GET: async (request, { signedIn }) => {
        const text = readText(request.url);
        const found = await lookUp(failure, () =>
          boundedRead(reads(), (read) => findAnywhere(read, signedIn, text)),
        );
        const active = catalog();
        return Response.json({
          ...found,
          models: findModels(active, text),
          providers: findProviders(active, text),
        } satisfies OperatorFindings);
      },
    },
  };
}

function readText(url: string): string {
  const text = readQuery(url, ['q']).get('q')?.trim() ?? '';
  // PostgreSQL cannot store a NUL.
  if (text === '' || text.length > maxTextLength || text.includes('\0'))
    throw invalidQuery('q', `a text of 1 to ${maxTextLength} characters`);
  return text;
}

type InAccount = Omit<AccountFindings, 'models'>;

async function findInAccount(sql: SQL, caller: Caller, text: string): Promise<InAccount> {
  const id = isUuid(text) ? text : null;
  const [row] = rowsForReader(
    await sql<(InAccount & { account_id: string })[]>`
      select readable.account_id,
        (select coalesce(jsonb_agg(found), '[]') from (
          select id, name, hint, ${isInForce(sql)} as is_in_force
          from api_keys
          where account_id = readable.account_id
            and (name ~ ${patternOf(text)} or hint ~ ${patternOf(text)} or id = ${id}::uuid)
          order by lower(name) = lower(${text}) desc, is_in_force desc, id desc limit ${maxOfAKind}
        ) as found) as keys,
        ${labelsOfAccount(sql, 'end_user', text)} as end_users,
        ${labelsOfAccount(sql, 'session', text)} as sessions
      from ${readableAccount(sql, caller)} as readable`,
    'account_id',
  );
  const { keys = [], end_users = [], sessions = [] } = row ?? {};
  return { keys, end_users, sessions };
}

/** A key that was replaced may have some time left. */
function isInForce(sql: SQL) {
  return sql`coalesce(revoked_at > now(), true) and coalesce(expires_at > now(), true)`;
}

type Anywhere = Omit<OperatorFindings, 'models' | 'providers'>;

async function findAnywhere(sql: SQL, reader: OperatorReader, text: string): Promise<Anywhere> {
  const id = isUuid(text) ? text : null;
  const pattern = patternOf(text);
  const [row] = rowsForOperator(
    await sql<(Anywhere & { allowed: number })[]>`
      select 1 as allowed,
        (select coalesce(jsonb_agg(found), '[]') from (
          select account.id, account.name, external_id
          from (
            (select id, name from accounts order by id desc limit ${maxScanned})
            union (select id, name from accounts where id = ${id}::uuid)
            union (select accounts.id, name from accounts join account_details on account_details.account_id = accounts.id
                   where external_id = ${text})
          ) as account
          left join account_details on account_details.account_id = account.id
          where account.name ~ ${pattern} or account.id = ${id}::uuid or external_id = ${text}
          order by lower(account.name) = lower(${text}) desc, account.id desc limit ${maxOfAKind}
        ) as found) as accounts,
        (select coalesce(jsonb_agg(found), '[]') from (
          select id, email, name
          from (
            (select id, email, name from users order by id desc limit ${maxScanned})
            union (select id, email, name from users where email = lower(${text}))
            union (select id, email, name from users where id = ${id}::uuid)
          ) as person
          where email ~ ${pattern} or name ~ ${pattern} or id = ${id}::uuid
          order by id desc limit ${maxOfAKind}
        ) as found) as people,
        (select coalesce(jsonb_agg(found), '[]') from (
          select api_keys.id, api_keys.name, hint,
            ${isInForce(sql)} as is_in_force,
            jsonb_build_object('id', accounts.id, 'name', accounts.name) as account
          from (
            (select id, account_id, name, hint, revoked_at, expires_at from api_keys order by id desc limit ${maxScanned})
            union (select id, account_id, name, hint, revoked_at, expires_at from api_keys where id = ${id}::uuid)
          ) as api_keys join accounts on accounts.id = account_id
          where api_keys.name ~ ${pattern} or hint ~ ${pattern} or api_keys.id = ${id}::uuid
          order by is_in_force desc, api_keys.id desc limit ${maxOfAKind}
        ) as found) as keys,
        ${labelsOfAll(sql, 'end_user', text)} as end_users,
        ${labelsOfAll(sql, 'session', text)} as sessions
      from ${operatorOnly(sql, reader)} as operator`,
    'allowed',
  );
  const { accounts = [], people = [], keys = [], end_users = [], sessions = [] } = row ?? {};
  return { accounts, people, keys, end_users, sessions };
}

/**
 * The first labels of an account that begin with the text, as JSON. Each step asks an index for the next different one, so a
 * label with a million requests costs as much as one with a single request. Rows are compared as a whole, in the order of
 * that index, and only then by account and kind, which leaves the planner no other.
 */
function labelsOfAccount(sql: SQL, kind: Kind, text: string) {
  return sql`(
    with recursive listed (account_id, kind, label, step) as (
      (
        select account_id, kind, label, 1 from generation_attributions
        where (account_id, kind, label) >= (readable.account_id, ${kind}::text, ${text}::text)
        order by account_id, kind, label limit 1
      )
      union all
      select next.account_id, next.kind, next.label, step + 1
      from listed cross join lateral (
        select account_id, kind, label from generation_attributions
        where (account_id, kind, label) > (listed.account_id, listed.kind, listed.label)
        order by account_id, kind, label limit 1
      ) as next
      where listed.account_id = readable.account_id and listed.kind = ${kind} and step < ${maxLabels}
    )
    select coalesce(jsonb_agg(label), '[]') from (
      select label from listed
      where account_id = readable.account_id and kind = ${kind} and starts_with(label, ${text}) limit ${maxOfAKind}
    ) as found)`;
}

/**
 * The same of all accounts, with the accounts of each. Which these are is read from its newest requests, in the order of the
 * index by label.
 */
function labelsOfAll(sql: SQL, kind: Kind, text: string) {
  return sql`(
    with recursive listed (kind, label, step) as (
      (
        select kind, label, 1 from generation_attributions
        where (kind, label) >= (${kind}::text, ${text}::text) order by kind, label limit 1
      )
      union all
      select next.kind, next.label, step + 1
      from listed cross join lateral (
        select kind, label from generation_attributions
        where (kind, label) > (listed.kind, listed.label) order by kind, label limit 1
      ) as next
      where listed.kind = ${kind} and step < ${maxLabels}
    )
    select coalesce(jsonb_agg(jsonb_build_object('label', label, 'account', jsonb_build_object('id', id, 'name', name))), '[]')
    from (
      select label, accounts.id, name
      from (
        select label, step from listed where kind = ${kind} and starts_with(label, ${text}) limit ${maxOfAKind}
      ) as matching
      cross join lateral (
        select account_id, min(place) as place from (
          select account_id, row_number() over () as place from (
            select account_id from generation_attributions
            where (kind, label, generation_id) >= (${kind}::text, matching.label, ${firstId}::uuid)
              and (kind, label, generation_id) <= (${kind}::text, matching.label, ${lastId}::uuid)
            order by kind desc, label desc, generation_id desc limit ${maxRequests}
          ) as newest
        ) as placed group by account_id
      ) as owner
      join accounts on accounts.id = account_id
      order by step, place limit ${maxOwned}
    ) as found)`;
}

function findModels({ catalog, connections }: ActiveCatalog, text: string): FoundModel[] {
  const models: readonly CallableModel[] = callableModels(catalog, accessTo(connections, null));
  return matching(
    models.map(({ id, name }) => ({ id, name })),
    text,
  );
}

function findProviders({ catalog }: ActiveCatalog, text: string): FoundProvider[] {
  return matching(
    [...catalog.providers].map(([id, { name }]) => ({ id, name })),
    text,
  );
}

/** Those that begin with the text come first. */
function matching<Item extends Readonly<{ id: string; name: string }>>(
  items: readonly Item[],
  text: string,
): Item[] {
  const wanted = text.toLowerCase();
  const placeIn = ({ id, name }: Item) =>
    Math.min(...[id, name].map((word) => word.toLowerCase().indexOf(wanted)).filter((at) => at >= 0));
  return items
    .map((item) => ({ item, place: placeIn(item) }))
    .filter(({ place }) => Number.isFinite(place))
    .toSorted((left, right) => left.place - right.place)
    .slice(0, maxOfAKind)
    .map(({ item }) => item);
}
