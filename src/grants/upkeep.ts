/** Ends grants and gives allowances in time, and draws entries before there are many of them. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';

const everyMs = 1000;
/** Between two looks for entries that nobody has asked about. */
const drawEveryMs = 15_000;
const pageSize = 200;
const maxEntries = 1000;

/** On every node. What another one is doing is left to it. */
export function keepGrantsSettled(sql: SQL, log: Log): () => void {
  let isStopped = false;
  let isRunning = false;
  let drawAtMs = 0;
  const run = async () => {
    if (isRunning) return;
    isRunning = true;
    try {
      await settleDue(sql, () => isStopped);
      if (performance.now() < drawAtMs) return;
      drawAtMs = performance.now() + drawEveryMs;
      await drawRest(sql, () => isStopped);
    } catch (error) {
      log.warn('grants not settled yet', { error });
    } finally {
      isRunning = false;
    }
  };
  const timer = setInterval(() => void run(), everyMs);
  return () => {
    isStopped = true;
    clearInterval(timer);
  };
}

/** Each in a transaction of its own, because requests of the account wait for it. */
async function settleDue(sql: SQL, isStopped: () => boolean): Promise<void> {
  const pageAfter = (id: string) => sql<{ id: string }[]>`
    select id from accounts where grants_due_at <= (select clock_timestamp()) and id > ${id} order by id limit ${pageSize}`;
  for await (const id of idsOf(pageAfter)) {
    if (isStopped()) return;
    await sql`
      select settle_grants(id) from (
        select id from accounts where id = ${id} and grants_due_at <= clock_timestamp() for no key update skip locked
      ) as due`;
  }
}

/** All of them, which a month needs before it is archived. In parts, because whoever reads the grants of the account waits for each. */
export async function drawRest(sql: SQL, isStopped = () => false): Promise<void> {
  const pageAfter = (id: string) => sql<{ id: string }[]>`
    select account_id as id from grant_progress join accounts on accounts.id = account_id
    where entry_count > entry_number and account_id > ${id} order by account_id limit ${pageSize}`;
  for await (const id of idsOf(pageAfter)) {
    let drawn = maxEntries;
    while (drawn === maxEntries && !isStopped()) drawn = await drawSome(sql, id);
  }
}

async function drawSome(sql: SQL, accountId: string): Promise<number> {
  const [row] = await sql<[{ drawn: bigint }]>`
    select draw_grants(${accountId}::uuid, ${maxEntries}::integer) as drawn`;
  return Number(row.drawn);
}

/** Each account once, also if it is among the next ones again. */
async function* idsOf(pageAfter: (id: string) => Promise<readonly { id: string }[]>): AsyncGenerator<string> {
  let last = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const page = await pageAfter(last);
    for (const { id } of page) {
      yield id;
      last = id;
    }
    if (page.length < pageSize) return;
  }
}
