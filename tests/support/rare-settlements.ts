/** Outcomes of requests that no test provider can cause, written by a separate ledger next to the gateway. */
import { SQL } from 'bun';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { Settlement, SettlementResult } from '../../src/ledger/operations.ts';
import { openSpool } from '../../src/ledger/spool.ts';
import { newId, requestIdFromUuid } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { parseMoney } from '../../src/lib/money.ts';
import { storePriceList } from '../../src/pricing/price-list-store.ts';
import type { TestDatabase } from './cluster.ts';
import { temporaryFolder } from './gateway.ts';
import { newAttempt, newGeneration, newHold, newSettlement, succeeded } from './ledger-operations.ts';

export type Owner = Readonly<{ accountId: string; keyId: string }>;

const usage = {
  inputTokens: 10,
  outputTokens: 5,
  cached: null,
  units: 15,
  unit: 'tokens',
  tier: null,
} as const;

/** Holds 1 USD and settles as completed at 0.25 USD, except for what is changed. Returns the request ID. */
export async function settleAs(
  database: TestDatabase,
  owner: Owner,
  changes: Partial<Settlement> = {},
): Promise<string> {
  return await withLedger(database, async (ledger) => {
    const settlement = await settlementOf(database, owner, changes);
    const { generation, provider } = settlement;
    const [node] = await database.sql`select id from nodes order by started_at desc limit 1`;
    const held = await ledger.hold(newHold(generation, node?.id ?? newId(), dollars('1'), { provider }));
    if (held.outcome !== 'held') throw new Error(`The hold was refused: ${held.code}.`);
    await ledger.settle(settlement);
    return requestIdFromUuid(generation.id);
  });
}

/** Refunds a charge, as for a response that was withheld. */
export async function refund(
  database: TestDatabase,
  owner: Owner,
  id: string,
): Promise<SettlementResult | 'late'> {
  return await withLedger(database, async (ledger) => {
    const settlement = await settlementOf(database, owner, {
      onAlreadyCharged: 'refund',
      cost: null,
      usage: null,
    });
    return await ledger.settle({ ...settlement, generation: { ...settlement.generation, id } });
  });
}

/** A settlement that the database refuses: more attempts than the column counts. */
export const impossible: Partial<Settlement> = {
  onInsufficientBalance: 'write_off',
  attempts: [succeeded(newAttempt({ index: 40_000, provider: 'Main' }))],
};

export function dollars(text: string): bigint {
  return parseMoney(text) ?? 0n;
}

async function withLedger<Result>(
  database: TestDatabase,
  use: (ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const ledger = openLedger(
    () => new SQL(database.url, { max: 1, bigint: true }),
    openSpool(temporaryFolder(), process.pid, newId()),
    createLog('error', () => undefined),
  );
  try {
    return await use(ledger);
  } finally {
    await ledger.close();
  }
}

async function settlementOf(
  { sql }: TestDatabase,
  owner: Owner,
  changes: Partial<Settlement>,
): Promise<Settlement> {
  const priceListId = await storePriceList(sql, { version: 'rare', digest: 'ab'.repeat(32), content: {} });
  const generation = newGeneration({ ...owner, priceListId }, { model: 'full', streaming: true });
  return newSettlement(generation, dollars('0.25'), {
    provider: 'Main',
    usage,
    cost: { input: dollars('0.1'), output: dollars('0.15'), total: dollars('0.25'), cached: null },
    onInsufficientBalance: 'write_off',
    latencyMs: 1_200,
    timeToFirstTokenMs: 300,
    ...changes,
  });
}
