/**
 * Whose money is spent: a rich account, a poor one whose balance runs out, and one on the brink, whose balance covers the
 * hold for a request but nothing beyond it. The rich one also has keys with a monthly limit. A fourth account, as rich, has
 * a key whose limit changes: after a hold that was denied, none of an account begins early for a while. Two more have limits
 * (steady-limits.ts): one of what it spends, one of its pace. Another spends grants and an allowance. The last one sends no
 * requests: it is suspended and resumed, and has a webhook.
 */
import type { SQL } from 'bun';
import { createAccount } from '../../src/accounts/account-store.ts';
import type { ShellActor } from '../../src/audit-log/audit-log.ts';
import { createAllowanceAs } from '../../src/grants/allowances.ts';
import { createKey } from '../../src/keys/key-store.ts';
import { formatMoneyShort, parseMoney } from '../../src/lib/money.ts';
import { createTokenAs, maxTokenRate, scopes } from '../../src/tokens/token-store.ts';
import { holdOf } from '../world/catalog.ts';
import { type Environment, tollgate } from '../world/program.ts';
import type { Movement, MovementLog } from './movement-log.ts';
import { type KeyName, overrunBounds } from './request-plan.ts';
import { createSteadyLimits, type SteadyLimit } from './steady-limits.ts';

const limit = '0.02';
const poorCredit = '0.1';
const brinkCredit = formatMoneyShort(holdOf(overrunBounds));
const grantedCredit = '0.05';
const allowance = '0.02';
const pauseMs = 3_000;
const operator: ShellActor = { door: 'cli', shellUser: 'chaos' };

export type Accounts = {
  readonly keys: Record<KeyName, string>;
  readonly poorAccount: string;
  readonly brinkAccount: string;
  readonly richAccount: string;
  readonly changingKeyId: string;
  readonly cappedAccount: string;
  readonly pacedAccount: string;
  readonly pacedKeyId: string;
  readonly grantedAccount: string;
  readonly toldAccount: string;
  /** The limits of these two that nobody lowers or removes. */
  readonly steadyLimits: readonly SteadyLimit[];
  /** For the admin API. */
  readonly token: string;
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
  const capped = await createAccount(sql, 'Capped', dollars('1000000'));
  const cappedKey = await keyOf(sql, capped.id, null);
  const paced = await createAccount(sql, 'Paced', dollars('1000000'));
  const pacedKey = await keyOf(sql, paced.id, null);
  const granted = await createAccount(sql, 'Granted', dollars(grantedCredit));
  await createAllowance(sql, granted.id);
  const told = await createAccount(sql, 'Told', dollars('1'));
  return {
    keys: {
      rich: (await keyOf(sql, rich.id, null)).key,
      poor: (await keyOf(sql, poor.id, null)).key,
      brink: (await keyOf(sql, brink.id, null)).key,
      limited: (await keyOf(sql, rich.id, limit)).key,
      changing: changing.key,
      capped: cappedKey.key,
      paced: pacedKey.key,
      granted: (await keyOf(sql, granted.id, null)).key,
    },
    poorAccount: poor.id,
    brinkAccount: brink.id,
    richAccount: rich.id,
    changingKeyId: changing.id,
    cappedAccount: capped.id,
    pacedAccount: paced.id,
    pacedKeyId: pacedKey.id,
    grantedAccount: granted.id,
    toldAccount: told.id,
    steadyLimits: await createSteadyLimits(sql, {
      cappedAccount: capped.id,
      cappedKeyId: cappedKey.id,
      pacedAccount: paced.id,
      pacedKeyId: pacedKey.id,
    }),
    token: await createToken(sql),
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

async function createAllowance(sql: SQL, accountId: string): Promise<void> {
  const draft = { accountId, amount: dollars(allowance), every: 'day', priority: 20, note: null } as const;
  await sql.begin((transaction) => createAllowanceAs(transaction, operator, draft));
}

const dayMs = 24 * 60 * 60 * 1_000;

async function createToken(sql: SQL): Promise<string> {
  const { secret } = await sql.begin((transaction) =>
    createTokenAs(transaction, operator, {
      name: 'chaos',
      scopes: [...scopes],
      networks: null,
      requestsPerMinute: maxTokenRate,
      expiresAt: new Date(Date.now() + dayMs),
    }),
  );
  return secret;
}

/** Replenishes balances and limits, so that they can run out again. */
export async function keepSpending(
  accounts: Accounts,
  environment: Environment,
  log: MovementLog,
  isOver: () => boolean,
): Promise<void> {
  const credit = async (accountId: string, amount: string, reference: string) => {
    const words = ['account', 'credit', accountId, amount, '--reference', reference];
    const isBooked = (await command(accounts, words, environment)) !== null;
    const movement: Movement = {
      kind: 'credit',
      accountId,
      requestId: null,
      entryNumber: null,
      amount: dollars(amount),
      words: reference,
      reference,
    };
    const answer = isBooked ? 'booked' : 'unknown';
    log.note({ ...movement, door: 'cli', sent: 1, answer, code: null, entry: null });
  };
  for (let round = 0; !isOver(); round += 1) {
    await Bun.sleep(pauseMs);
    if (isOver()) return;
    await credit(accounts.poorAccount, poorCredit, `poor ${round}`);
    await credit(accounts.brinkAccount, brinkCredit, `brink ${round}`);
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
