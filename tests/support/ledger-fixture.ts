/** A ledger's database with customers, and the operations that they make. For tests that call the ledger themselves. */
import { expect } from 'bun:test';
import { rmSync } from 'node:fs';
import { SQL } from 'bun';
import { createAccount } from '../../src/accounts/account-store.ts';
import { auditLedger } from '../../src/audit/audit.ts';
import { createKey } from '../../src/keys/key-store.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { Hold, Settlement } from '../../src/ledger/operations.ts';
import { openSpool } from '../../src/ledger/spool.ts';
import { newId } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { storePriceList } from '../../src/pricing/price-list-store.ts';
import { createDatabase, type TestDatabase } from './cluster.ts';
import { temporaryFolder } from './gateway.ts';
import { newAttempt, newGeneration, newHold, newSettlement, succeeded } from './ledger-operations.ts';

export type Customer = { accountId: string; keyId: string };
type Limits = { monthlyLimit?: bigint; requestsPerMinute?: number };
type LedgerChanges = { url?: string; silenceMs?: number | undefined };
type HoldChanges = { node?: string; idempotencyHash?: string };

export const silentLog = createLog('error', () => undefined);

export class LedgerFixture {
  readonly database: TestDatabase;
  readonly priceListId: number;
  /** Where the ledgers spool. */
  readonly folder = temporaryFolder();
  readonly nodeId = newId();
  readonly attempt = newAttempt();

  private constructor(database: TestDatabase, priceListId: number) {
    this.database = database;
    this.priceListId = priceListId;
  }

  static async open(): Promise<LedgerFixture> {
    const database = await createDatabase();
    const list = { version: '1', digest: '00'.repeat(32), content: {} };
    return new LedgerFixture(database, await storePriceList(database.sql, list));
  }

  async close(): Promise<void> {
    await this.database.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The name is that of its connections. */
  openLedger = (
    name = 'ledger',
    { url = this.database.url, silenceMs = undefined }: LedgerChanges = {},
  ): Ledger => {
    const connection = { application_name: name };
    const openWriter = () => new SQL(url, { max: 1, bigint: true, connection });
    return openLedger(openWriter, openSpool(this.folder, process.pid, newId()), silentLog, silenceMs);
  };

  customer = async (balance: bigint, limits: Limits = {}): Promise<Customer> => {
    const { id } = await createAccount(this.database.sql, 'Test', balance);
    return await this.anotherKey(id, limits);
  };

  anotherKey = async (accountId: string, limits: Limits = {}): Promise<Customer> => {
    const created = await createKey(this.database.sql, {
      accountId,
      name: 'Test',
      requestsPerMinute: limits.requestsPerMinute ?? 1_000_000,
      maxConcurrent: 100_000,
      monthlyLimit: limits.monthlyLimit ?? null,
      allowedModels: null,
      expiresAt: null,
    });
    return { accountId, keyId: created?.id ?? '' };
  };

  hold = (owner: Customer, amount: bigint, changes: HoldChanges = {}): Hold => {
    const { node = this.nodeId, idempotencyHash = null } = changes;
    const generation = newGeneration({ ...owner, priceListId: this.priceListId }, { idempotencyHash });
    return newHold(generation, node, amount, { attempts: [this.attempt] });
  };

  /** Without a total, the call has failed. */
  settlement = ({ generation }: Hold, total: bigint | null, changes: Partial<Settlement> = {}): Settlement =>
    newSettlement(generation, total, { attempts: [succeeded(this.attempt)], ...changes });

  /** In the unit of the ledger, like the amounts of holds. */
  money = async ({ accountId }: Customer): Promise<{ balance: string; held: string }> => {
    const [row] = await this.database.sql<[{ balance: string; held: string }]>`
      select (balance * 1e12)::bigint::text as balance, (held * 1e12)::bigint::text as held
      from accounts where id = ${accountId}`;
    return { ...row };
  };

  expectSound = async (): Promise<void> => {
    const findings = await auditLedger(this.database.sql);
    expect(findings.filter(({ violations }) => violations > 0)).toEqual([]);
  };
}
