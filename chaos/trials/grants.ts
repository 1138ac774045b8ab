/**
 * Someone gives an account grants that last for seconds, and voids some, while its requests spend them. It is done where all
 * doors end, with the database that is being killed.
 */
import type { SQL } from 'bun';
import type { ShellActor } from '../../src/audit-log/audit-log.ts';
import { voidGrant } from '../../src/grants/grant-store.ts';
import { book, type GrantTerms, isBooked } from '../../src/ledger/movements.ts';
import type { Random } from '../random.ts';
import type { ChaosDatabase } from '../world/database.ts';
import type { AskedMovement, MovementLog } from './movement-log.ts';

const actor: ShellActor = { door: 'cli', shellUser: 'chaos' };
const minPauseMs = 100;
const maxPauseMs = 500;
const retryMs = 200;
const patienceMs = 60_000;
const voidShare = 0.25;
const maxLifeMs = 8_000;
const microdollar = 1_000_000n;

export type GrantTrial = Readonly<{ stop: () => Promise<Readonly<{ voided: number }>> }>;

export function startGrants(
  database: ChaosDatabase,
  accountId: string,
  log: MovementLog,
  random: Random,
): GrantTrial {
  const sql = database.open(1);
  let voided = 0;
  let isOver = false;

  async function work(): Promise<void> {
    for (let number = 0; !isOver; number += 1) {
      await Bun.sleep(random.between(minPauseMs, maxPauseMs));
      if (random.happens(voidShare)) {
        if (await voidOne(sql, accountId)) voided += 1;
      } else log.note(await give(sql, accountId, `g${number}`, random));
    }
    await sql.close({ timeout: 1 });
  }

  const working = work();
  return {
    stop: async () => {
      isOver = true;
      await working;
      return { voided };
    },
  };
}

/** A statement whose answer is lost is sent again with the same reference. */
async function give(sql: SQL, accountId: string, name: string, random: Random): Promise<AskedMovement> {
  const amount = BigInt(random.between(500, 20_000)) * microdollar;
  const lifeMs = random.happens(0.1) ? null : random.between(500, maxLifeMs);
  const grant: GrantTerms = {
    category: random.pick(['promotional', 'promotional', 'paid']),
    priority: random.between(0, 100),
    expiresAt: lifeMs === null ? null : new Date(Date.now() + lifeMs),
  };
  const asked = {
    kind: 'credit',
    accountId,
    requestId: null,
    entryNumber: null,
    amount,
    words: `Chaos ${name}`,
    reference: name,
    door: 'function',
    code: null,
  } as const;
  const credit = { kind: 'credit', accountId, amount, memo: asked.words, reference: name, grant } as const;
  const deadlineMs = performance.now() + patienceMs;
  for (let sent = 1; ; sent += 1) {
    const result = await book(sql, actor, credit).catch(() => null);
    if (result !== null && isBooked(result)) {
      const { outcome: answer, entryNumber } = result;
      return { ...asked, sent, answer, entry: { accountId, number: Number(entryNumber), amount } };
    }
    if (result !== null) return { ...asked, sent, answer: 'refused', code: result.outcome, entry: null };
    if (performance.now() > deadlineMs) return { ...asked, sent, answer: 'unknown', entry: null };
    await Bun.sleep(retryMs);
  }
}

/** Whether one was. The database may be away. */
async function voidOne(sql: SQL, accountId: string): Promise<boolean> {
  try {
    const [grant] = await sql<{ id: string }[]>`
      select id from grants where account_id = ${accountId} and number > 0 and remaining > 0 and ended_at is null
      order by random() limit 1`;
    if (grant === undefined) return false;
    const { outcome } = await voidGrant(sql, actor, { accountId, id: grant.id, reason: 'Chaos' });
    return outcome === 'voided';
  } catch {
    return false;
  }
}
