import { accountExists } from '../accounts/account-store.ts';
import { createKey, defaultRequestsPerMinute, keyExists, listKeys, revokeKey } from '../keys/key-store.ts';
import { formatMoney, formatMoneyShort } from '../lib/money.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { noSuchAccount } from './account-commands.ts';
import { readCount, readDollars, readLine, readTime, readUuid, UsageError } from './arguments.ts';
import { type DatabaseCommand, formatTable } from './command.ts';

const create: DatabaseCommand = {
  name: 'key create',
  summary: 'Make an API key. It is shown once and cannot be read again.',
  options: [
    { name: 'account', value: 'ID', required: true },
    { name: 'name', value: 'N' },
    { name: 'rpm', value: `N (${defaultRequestsPerMinute})` },
    { name: 'monthly-limit', value: 'USD' },
    { name: 'allow', value: 'MODEL,…' },
    { name: 'expires', value: 'ISO' },
  ],
  run: async (sql, words) => {
    const accountId = readUuid(words.text('account') ?? '', '--account');
    const monthlyLimit = words.text('monthly-limit');
    const allow = words.text('allow');
    const expires = words.text('expires');
    const created = await createKey(sql, {
      accountId,
      name: readLine(words.text('name') ?? 'API key', '--name', 200),
      requestsPerMinute: readCount(words.text('rpm') ?? `${defaultRequestsPerMinute}`, '--rpm', 1_000_000),
      monthlyLimit: monthlyLimit === null ? null : readDollars(monthlyLimit, '--monthly-limit'),
      allowedModels: allow === null ? null : readModels(allow),
      expiresAt: expires === null ? null : readTime(expires, '--expires'),
    });
    if (created === null) throw noSuchAccount(accountId);
    return {
      json: created,
      text: `Key ${created.id} is made. Keep it safe, it is not shown again:\n${created.key}`,
    };
  },
};

const revoke: DatabaseCommand = {
  name: 'key revoke',
  summary: 'Refuse an API key from now on.',
  positionals: ['ID'],
  run: async (sql, words) => {
    const id = readUuid(words.positionals[0] ?? '', 'ID');
    const wasInForce = await revokeKey(sql, id);
    if (!wasInForce && !(await keyExists(sql, id)))
      throw new OperatorError(`There is no key ${id}. List them with: tollgate key list --account ID`);
    return {
      json: { id, revoked: true },
      text: wasInForce ? `Key ${id} is revoked.` : `Key ${id} was revoked before.`,
    };
  },
};

const list: DatabaseCommand = {
  name: 'key list',
  summary: 'List the API keys of an account.',
  options: [{ name: 'account', value: 'ID', required: true }],
  run: async (sql, words) => {
    const accountId = readUuid(words.text('account') ?? '', '--account');
    const keys = await listKeys(sql, accountId);
    if (keys.length === 0 && !(await accountExists(sql, accountId))) throw noSuchAccount(accountId);
    return {
      json: keys.map((key) => ({
        id: key.id,
        name: key.name,
        hint: key.hint,
        rpm: key.requestsPerMinute,
        monthly_limit: key.monthlyLimit === null ? null : formatMoney(key.monthlyLimit),
        allow: key.allowedModels,
        expires_at: key.expiresAt?.toISOString() ?? null,
        revoked_at: key.revokedAt?.toISOString() ?? null,
        created_at: key.createdAt.toISOString(),
      })),
      text: formatTable(
        ['ID', 'NAME', 'KEY', 'RPM', 'MONTHLY', 'MODELS', 'EXPIRES', 'REVOKED'],
        keys.map((key) => [
          key.id,
          key.name,
          key.hint,
          `${key.requestsPerMinute}`,
          key.monthlyLimit === null ? '-' : formatMoneyShort(key.monthlyLimit),
          key.allowedModels?.join(',') ?? 'all',
          key.expiresAt?.toISOString() ?? '-',
          key.revokedAt?.toISOString() ?? '-',
        ]),
      ),
    };
  },
};

function readModels(text: string): string[] {
  const models = text.split(',').map((model) => model.trim());
  if (models.some((model) => model === ''))
    throw new UsageError('--allow must be model IDs with commas between them.');
  return models;
}

export const keyCommands = [create, revoke, list];
