import type { SQL } from 'bun';
import { accountExists } from '../accounts/account-store.ts';
import { ApiError } from '../errors.ts';
import {
  accountOfKey,
  addKeyAs,
  changeKeyAs,
  type KeyRules,
  type OwnedKey,
  requireKey,
  revokeKeyAs,
} from '../keys/key-changes.ts';
import {
  defaultMaxConcurrent,
  defaultRequestsPerMinute,
  type KeyChange,
  listKeys,
  maxConcurrentLimit,
  maxRequestsPerMinute,
  type StoredKey,
} from '../keys/key-store.ts';
import { formatMoneyShort, moneyFromDatabase } from '../lib/money.ts';
import { nearest, suggestion } from '../lib/nearest.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { readCatalogFile } from '../models/catalog-store.ts';
import { noSuchAccount } from './account-commands.ts';
import {
  type Arguments,
  readAccountId,
  readCount,
  readDollars,
  readFutureTime,
  readKeyId,
  readLine,
  UsageError,
} from './arguments.ts';
import { type DatabaseCommand, formatList } from './command.ts';
import { shellActor } from './shell-user.ts';

const create: DatabaseCommand = {
  name: 'key create',
  summary: 'Create an API key. It is shown only once.',
  options: [
    { name: 'account', value: 'ID', required: true },
    { name: 'name', value: 'N' },
    { name: 'rpm', value: `N (${defaultRequestsPerMinute})` },
    { name: 'max-concurrent', value: `N (${defaultMaxConcurrent})` },
    { name: 'monthly-limit', value: 'USD' },
    { name: 'allow', value: 'MODEL,…' },
    { name: 'expires', value: 'ISO' },
  ],
  run: async (sql, words, config) => {
    const accountId = readAccountId(words.text('account') ?? '', '--account');
    const monthlyLimit = words.text('monthly-limit');
    const allow = words.text('allow');
    const expires = words.text('expires');
    const settings = {
      name: readLine(words.text('name') ?? 'API key', '--name', 200),
      requestsPerMinute: readRate(words.text('rpm') ?? `${defaultRequestsPerMinute}`),
      maxConcurrent: readMaxConcurrent(words.text('max-concurrent') ?? `${defaultMaxConcurrent}`),
      monthlyLimit: monthlyLimit === null ? null : readDollars(monthlyLimit, '--monthly-limit'),
      allowedModels: allow === null ? null : readModels(allow),
      expiresAt: expires === null ? null : readFutureTime(expires, '--expires'),
    };
    if (!(await accountExists(sql, accountId))) throw noSuchAccount(accountId);
    const { id, secret: key } = await shortTransaction(sql, (transaction) =>
      addKeyAs(transaction, shellActor(config), accountId, settings, noRules),
    );
    return {
      json: { id, name: settings.name, key },
      warnings: await unknownModels(settings.allowedModels, config.catalogFile),
      text: `Key ${id} was created. Keep it safe: it is not shown again.\n${key}`,
    };
  },
};

const update: DatabaseCommand = {
  name: 'key update',
  summary: 'Change the limits of an API key. Options that are left out change nothing.',
  positionals: ['ID'],
  options: [
    { name: 'rpm', value: 'N' },
    { name: 'max-concurrent', value: 'N' },
    { name: 'monthly-limit', value: 'USD|none' },
    { name: 'allow', value: 'MODEL,…|all' },
    { name: 'expires', value: 'ISO|never' },
  ],
  run: async (sql, words, config) => {
    const id = readKeyId(words.positionals[0] ?? '', 'ID');
    const change = readChange(words);
    if (Object.values(change).every((value) => value === undefined))
      throw new UsageError(
        'Nothing to change: give --rpm, --max-concurrent, --monthly-limit, --allow or --expires.',
      );
    const owned = await ownedKey(sql, id);
    const key = await shortTransaction(sql, async (transaction) => {
      await changeKeyAs(transaction, shellActor(config), owned, change, noRules).catch((error: unknown) => {
        throw error instanceof ApiError && error.code === 'key_ended' ? keyRevoked(id) : error;
      });
      return await requireKey(transaction, owned);
    });
    return {
      json: presentKey(key),
      warnings: await unknownModels(change.allowedModels ?? null, config.catalogFile),
      text: `Key ${id} was changed.\n${formatKeys([key])}`,
    };
  },
};

/** Unknown models are only warned of, and the number of keys is not limited. */
const noRules: KeyRules = { isInCatalog: () => true, maxInForce: Number.POSITIVE_INFINITY };

async function ownedKey(sql: SQL, id: string): Promise<OwnedKey> {
  const accountId = await accountOfKey(sql, id);
  if (accountId === null) throw noSuchKey(id);
  return { id, accountId };
}

function readChange(words: Arguments): KeyChange {
  const rate = words.text('rpm');
  const maxConcurrent = words.text('max-concurrent');
  const monthlyLimit = words.text('monthly-limit');
  const allow = words.text('allow');
  const expires = words.text('expires');
  return {
    requestsPerMinute: rate === null ? undefined : readRate(rate),
    maxConcurrent: maxConcurrent === null ? undefined : readMaxConcurrent(maxConcurrent),
    monthlyLimit: given(monthlyLimit, 'none', (text) => readDollars(text, '--monthly-limit')),
    allowedModels: given(allow, 'all', readModels),
    expiresAt: given(expires, 'never', (text) => readFutureTime(text, '--expires')),
  };
}

/** Undefined without the option, null when it lifts the limit. */
function given<Value>(text: string | null, unlimited: string, read: (text: string) => Value) {
  if (text === null) return undefined;
  return text === unlimited ? null : read(text);
}

const revoke: DatabaseCommand = {
  name: 'key revoke',
  summary: 'Revoke an API key at once.',
  positionals: ['ID'],
  run: async (sql, words, config) => {
    const id = readKeyId(words.positionals[0] ?? '', 'ID');
    const owned = await ownedKey(sql, id);
    const wasInForce = await shortTransaction(sql, (transaction) =>
      revokeKeyAs(transaction, shellActor(config), owned),
    );
    return {
      json: { id, revoked: true },
      text: wasInForce ? `Key ${id} is revoked.` : `Key ${id} was already revoked.`,
    };
  },
};

const list: DatabaseCommand = {
  name: 'key list',
  summary: 'List the API keys of an account.',
  options: [{ name: 'account', value: 'ID', required: true }],
  run: async (sql, words) => {
    const accountId = readAccountId(words.text('account') ?? '', '--account');
    const keys = await listKeys(sql, accountId);
    if (keys.length === 0 && !(await accountExists(sql, accountId))) throw noSuchAccount(accountId);
    return { json: keys.map(presentKey), text: formatKeys(keys) };
  },
};

function presentKey({ requests_per_minute: rpm, allowed_models: allow, ...key }: StoredKey) {
  const { id, name, hint, max_concurrent, monthly_limit, expires_at, revoked_at, created_at } = key;
  return { id, name, hint, rpm, max_concurrent, monthly_limit, allow, expires_at, revoked_at, created_at };
}

function formatKeys(keys: readonly StoredKey[]): string {
  return formatList(
    ['ID', 'NAME', 'KEY', 'RPM', 'CONCURRENT', 'MONTHLY', 'MODELS', 'EXPIRES', 'REVOKED'],
    keys.map((key) => [
      key.id,
      key.name,
      key.hint,
      `${key.requests_per_minute}`,
      `${key.max_concurrent}`,
      key.monthly_limit === null ? '-' : formatMoneyShort(moneyFromDatabase(key.monthly_limit)),
      key.allowed_models?.join(',') ?? 'all',
      key.expires_at?.toISOString() ?? '-',
      key.revoked_at?.toISOString() ?? '-',
    ]),
    'No keys yet.',
  );
}

function readRate(text: string): number {
  return readCount(text, '--rpm', maxRequestsPerMinute);
}

function readMaxConcurrent(text: string): number {
  return readCount(text, '--max-concurrent', maxConcurrentLimit);
}

function readModels(text: string): string[] {
  const models = text.split(',').map((model) => model.trim());
  if (models.some((model) => model === ''))
    throw new UsageError('--allow must be a comma-separated list of model IDs.');
  return models;
}

/** They are allowed all the same: the catalogue may get them later. */
async function unknownModels(allowed: readonly string[] | null, catalogFile: string): Promise<string[]> {
  if (allowed === null) return [];
  const { result } = await readCatalogFile(catalogFile);
  if (!result.ok) return [`Could not check whether these models exist: ${result.problems[0]}`];
  const known = [...result.catalog.models.keys()];
  return allowed
    .filter((id) => !known.includes(id))
    .map((id) => `The catalogue has no model ${id}.${suggestion(nearest(id, known))}`);
}

function keyRevoked(id: string): OperatorError {
  return new OperatorError(
    `Key ${id} is revoked and cannot be changed. Create a new one: tollgate key create`,
  );
}

function noSuchKey(id: string): OperatorError {
  return new OperatorError(`There is no key ${id}. List them with: tollgate key list --account ID`);
}

export const keyCommands = [create, update, revoke, list];
