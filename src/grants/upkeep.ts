/** Ends grants and gives allowances in time, and draws entries before there are many of them. */
import type { SQL } from 'bun';
import { nilId } from '../lib/ids.ts';
import type { Log, LogFields } from '../lib/log.ts';
import { repeatedly } from '../lib/repeatedly.ts';

const everyMs = 1000;
/** Between two looks for entries that nobody has asked about. */
const drawEveryMs = 15_000;
const pageSize = 200;
const maxEntries = 1000;

/** On every node. What another one is doing is left to it. */
export function keepGrantsSettled(sql: SQL, log: Log): () => Promise<void> {
  const state = { isStopped: false };
  const report = (fields: LogFields) => log.warn('grants were not settled in time', fields);
  const stopSettling = repeatedly(everyMs, () => settleDue(sql, state), report);
  const stopDrawing = repeatedly(drawEveryMs, () => drawRest(sql, state), report);
  return async () => {
    state.isStopped = true;
    await Promise.all([stopSettling(), stopDrawing()]);
  };
}

type State = Readonly<{ isStopped: boolean }>;
const neverStopped: State = { isStopped: false };

async function settleDue(sql: SQL, state: State): Promise<void> {
  await eachByItself(findDue(sql), state, (id) => settle(sql, id, state));
}

/** All accounts, which a month needs before it is archived. */
export async function drawRest(sql: SQL, state: State = neverStopped): Promise<void> {
  await eachByItself(findNotDrawn(sql), state, (id) => draw(sql, id, state));
}

/** One that fails keeps no other from being done. The first failure is thrown in the end. */
async function eachByItself(
  accounts: AsyncIterable<string>,
  state: State,
  work: (accountId: string) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  for await (const id of accounts) {
    if (state.isStopped) break;
    await work(id).catch((error: unknown) => {
      failures[0] ??= error;
    });
  }
  if (failures.length > 0) throw failures[0];
}

async function* findDue(sql: SQL): AsyncGenerator<string> {
  const [{ now }] = await sql<[{ now: string }]>`select clock_timestamp()::text as now`;
  let last: { due: string; id: string } | undefined = { due: '-infinity', id: nilId };
  while (last !== undefined) {
    const page: { due: string; id: string }[] = await sql`
      select id, grants_due_at::text as due from accounts
      where grants_due_at <= ${now}::text::timestamptz
        and (grants_due_at, id) > (${last.due}::text::timestamptz, ${last.id}::uuid)
      order by grants_due_at, id limit ${pageSize}`;
    for (const { id } of page) yield id;
    last = page[pageSize - 1];
  }
}

async function* findNotDrawn(sql: SQL): AsyncGenerator<string> {
  let last: { id: string } | undefined = { id: nilId };
  while (last !== undefined) {
    const page: { id: string }[] = await sql`
      select account_id as id from grant_progress join accounts on accounts.id = account_id
      where entry_count > entry_number and account_id > ${last.id}::uuid order by account_id limit ${pageSize}`;
    for (const { id } of page) yield id;
    last = page[pageSize - 1];
  }
}

/** In a transaction of its own, because requests of the account wait for it. */
async function settle(sql: SQL, accountId: string, state: State): Promise<void> {
  await draw(sql, accountId, state);
  await sql`
    select settle_grants(id) from (
      select id from accounts where id = ${accountId} and grants_due_at <= clock_timestamp()
      for no key update skip locked
    ) as due`;
}

/** In parts, because whoever reads the grants of the account waits for each. */
export async function draw(sql: SQL, accountId: string, state: State = neverStopped): Promise<void> {
  let drawn = maxEntries;
  while (drawn === maxEntries && !state.isStopped) {
    const [row] = await sql<[{ drawn: bigint }]>`
      select draw_grants(${accountId}::uuid, ${maxEntries}::integer) as drawn`;
    drawn = Number(row.drawn);
  }
}
