/**
 * Whose money is spent: a rich account, a poor one whose balance runs out, and one on the brink, whose balance covers the
 * hold for a request but nothing beyond it. The rich one also has keys with a monthly limit. A fourth account, as rich, has
 * a key whose limit changes: after a hold that was denied, none of an account begins early for a while.
 */
import type { SQL } from 'bun';
import { createAccount } from '../../src/accounts/account-store.ts';
import { createKey } from '../../src/keys/key-store.ts';
import { formatMoneyShort, parseMoney } from '../../src/lib/money.ts';
import { holdOf } from '../world/catalog.ts';
import { type Environment, tollgate } from '../world/program.ts';
import { type KeyName, overrunBounds } from './request-plan.ts';

const limit = '0.02';
const poorCredit = '0.1';
const brinkCredit = formatMoneyShort(holdOf(overrunBounds));
const pauseMs = 3_000;

export type Accounts = {
  readonly keys: Record<KeyName, string>;
  readonly poorAccount: string;
  readonly brinkAccount: string;
  readonly richAccount: string;
  readonly changingKeyId: string;
  /** How often the command line was used while things broke, and how often the database was away at that moment. */
  commands: number;
  failedCommands: number;
};

export async function createAccounts(sql: SQL): Promise<Accounts> {
  const rich = await createAccount(sql, 'Rich', dollars('1000000'));
  const poor = await createAccount(sql, 'Poor', dollars(poorCredit));
  const brink = await createAccount(sql, 'Brink', dollars(brinkCredit));
  const another = await createAccount(sql, 'Changing', dollars('1000000'));
  const changing = await keyOf(sql, another.id, null);
  return {
    keys: {
      rich: (await keyOf(sql, rich.id, null)).key,
      poor: (await keyOf(sql, poor.id, null)).key,
      brink: (await keyOf(sql, brink.id, null)).key,
      limited: (await keyOf(sql, rich.id, limit)).key,
      changing: changing.key,
    },
    poorAccount: poor.id,
    brinkAccount: brink.id,
    richAccount: rich.id,
    changingKeyId: changing.id,
    commands: 0,
    failedCommands: 0,
  };
}

async function keyOf(
  sql: SQL,
  accountId: string,
  monthlyLimit: string | null,
): Promise<Readonly<{ id: string; key: string }>> {
  const created = await createKey(sql, {
    accountId,
    name: 'chaos',
    requestsPerMinute: 1_000_000,
    // What killed gateways leave open counts until another gateway has run long enough to close it.
    maxConcurrent: 100_000,
    monthlyLimit: monthlyLimit === null ? null : dollars(monthlyLimit),
    allowedModels: null,
    expiresAt: null,
  });
  if (created === null) throw new Error('The account of a key is missing.');
  return created;
}

/** Replenishes balances and limits, so that they can run out again. */
export async function keepSpending(
  accounts: Accounts,
  environment: Environment,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    await Bun.sleep(pauseMs);
    if (isOver()) return;
    await command(accounts, ['account', 'credit', accounts.poorAccount, poorCredit], environment);
    await command(accounts, ['account', 'credit', accounts.brinkAccount, brinkCredit], environment);
    const words = ['key', 'create', '--account', accounts.richAccount, '--rpm', '1000000'];
    const made = await command(accounts, [...words, '--monthly-limit', limit, '--json'], environment);
    if (made !== null) accounts.keys.limited = (JSON.parse(made) as { key: string }).key;
  }
}

async function command(
  accounts: Accounts,
  words: readonly string[],
  environment: Environment,
): Promise<string | null> {
  const { exitCode, stdout } = await tollgate(words, environment);
  accounts.commands += 1;
  if (exitCode === 0) return stdout;
  accounts.failedCommands += 1;
  return null;
}

function dollars(text: string): bigint {
  return parseMoney(text) ?? 0n;
}
