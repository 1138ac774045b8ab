/** Ends grants and gives allowances in time, and draws entries before there are many of them. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';

const everyMs = 1000;
/** Between two looks for entries that nobody has asked about. */
const drawEveryMs = 15_000;
const pageSize = 200;
const maxEntries = 1000;
const firstId = '00000000-0000-0000-0000-000000000000';

/** On every node. What another one is doing is left to it. */
export function keepGrantsSettled(sql: SQL, log: Log): () => void {
  const state = { isStopped: false };
  let isRunning = false;
  let drawAtMs = 0;
  const run = async () => {
    if (isRunning) return;
    isRunning = true;
    const warn = (error: unknown) => log.warn('grants not settled yet', { error });
    await settleDue(sql, state, warn).catch(warn);
    if (performance.now() >= drawAtMs) {
      drawAtMs = performance.now() + drawEveryMs;
      await drawRest(sql, state, warn).catch(warn);
    }
    isRunning = false;
  };
  const timer = setInterval(() => void run(), everyMs);
  return () => {
    state.isStopped = true;
    clearInterval(timer);
  };
}

type State = Readonly<{ isStopped: boolean }>;
type Warn = (error: unknown) => void;

/** Each in a transaction of its own, because requests of the account wait for it, and one that fails stops no other. */
async function settleDue(sql: SQL, state: State, warn: Warn): Promise<void> {
  const [{ now }] = await sql<[{ now: string }]>`select clock_timestamp()::text as now`;
  let last = { due: '-infinity', id: firstId };
  for (;;) {
    const page = await sql<{ id: string; due: string }[]>`
      select id, grants_due_at::text as due from accounts
      where grants_due_at <= ${now}::text::timestamptz
        and (grants_due_at, id) > (${last.due}::text::timestamptz, ${last.id}::uuid)
      order by grants_due_at, id limit ${pageSize}`;
    for (const { id } of page) {
      if (state.isStopped) return;
      await settle(sql, id, state).catch(warn);
    }
    const next = page.at(-1);
    if (next === undefined || page.length < pageSize) return;
    last = next;
  }
}

async function settle(sql: SQL, accountId: string, state: State): Promise<void> {
  await draw(sql, accountId, state);
  await sql`
    select settle_grants(id) from (
      select id from accounts where id = ${accountId} and grants_due_at <= clock_timestamp()
      for no key update skip locked
    ) as due`;
}

/** All accounts, which a month needs before it is archived. */
export async function drawRest(sql: SQL, state: State = { isStopped: false }, warn?: Warn): Promise<void> {
  let last = firstId;
  for (;;) {
    const page = await sql<{ id: string }[]>`
      select account_id as id from grant_progress join accounts on accounts.id = account_id
      where entry_count > entry_number and account_id > ${last}::uuid order by account_id limit ${pageSize}`;
    for (const { id } of page) await (warn ? draw(sql, id, state).catch(warn) : draw(sql, id, state));
    const next = page.at(-1);
    if (next === undefined || page.length < pageSize) return;
    last = next.id;
  }
}

/** In parts, because whoever reads the grants of the account waits for each. */
export async function draw(sql: SQL, accountId: string, state: State = { isStopped: false }): Promise<void> {
  let drawn = maxEntries;
  while (drawn === maxEntries && !state.isStopped) {
    const [row] = await sql<[{ drawn: bigint }]>`
      select draw_grants(${accountId}::uuid, ${maxEntries}::integer) as drawn`;
    drawn = Number(row.drawn);
  }
}
