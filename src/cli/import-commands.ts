/** Accounts, keys, limits and balances from another gateway. */
import type { SQL } from 'bun';
import type { Config } from '../config.ts';
import { applyPlan, type Made, previewPlan } from '../imports/apply.ts';
import { limitsOfGateway } from '../imports/limits.ts';
import { planLitellm } from '../imports/litellm.ts';
import { litellmFile } from '../imports/litellm-file.ts';
import { newApiFile, planNewApi } from '../imports/new-api.ts';
import { readTables } from '../imports/open-file.ts';
import type { Choices, Here, Plan } from '../imports/plan.ts';
import { describeMade, describePlan, planAsMade, presentImport } from '../imports/report.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { readCatalogFile } from '../models/catalog-store.ts';
import { type Arguments, readAccountId, readDollars, UsageError } from './arguments.ts';
import type { DatabaseCommand, Outcome } from './command.ts';
import { shellActor } from './shell-user.ts';

const balance = { name: 'balance', value: 'none|remaining|USD' } as const;
const common = [
  { name: 'lifetime-as-monthly', value: null },
  { name: 'allow-unknown-models', value: null },
  { name: 'without-people', value: null },
  { name: 'dry-run', value: null },
] as const;

const litellm: DatabaseCommand = {
  name: 'import litellm',
  summary:
    'Import accounts, keys, limits and balances from LiteLLM: a dump of its database, or JSON from its API. Customers keep their keys. Repeating the command makes nothing twice. With --dry-run, only shows what it would make.',
  positionals: ['FILE|-'],
  options: [
    { ...balance, required: true },
    { name: 'by', value: 'team|organization' },
    { name: 'account', value: 'ID' },
    { name: 'drop-limits', value: null },
    ...common,
  ],
  run: async (sql, words, config) => {
    const account = words.text('account');
    const by = words.text('by') ?? 'team';
    if (by !== 'team' && by !== 'organization')
      throw new UsageError(`--by must be team or organization, but is "${by}".`);
    const choices = {
      ...readChoices(words),
      byOrganization: by === 'organization',
      accountId: account === null ? null : readAccountId(account, '--account'),
    };
    const tables = await readTables(words.positionals[0] ?? '', litellmFile);
    requireTable(tables.has('LiteLLM_VerificationToken'), 'LiteLLM_VerificationToken (keys)');
    return await carryOut(sql, words, config, planLitellm(tables, choices, await readHere(config)));
  },
};

const newApi: DatabaseCommand = {
  name: 'import new-api',
  summary:
    'Import accounts, keys and balances from new-api or one-api: the SQLite file, or a dump of the database. Customers keep their keys. Repeating the command makes nothing twice. With --dry-run, only shows what it would make.',
  positionals: ['FILE|-'],
  options: [
    balance,
    { name: 'quota-per-usd', value: 'N' },
    { name: 'rate', value: 'USD (1)' },
    { name: 'bare', value: null },
    { name: 'ignore-ip-limits', value: null },
    ...common,
  ],
  run: async (sql, words, config) => {
    const quotaPerUsd = words.text('quota-per-usd');
    const choices = {
      ...readChoices(words),
      quotaPerUsd: quotaPerUsd === null ? null : readPositive(quotaPerUsd, '--quota-per-usd'),
      rate: readPositive(words.text('rate') ?? '1', '--rate'),
      isBare: words.flag('bare'),
      ignoreIpLimits: words.flag('ignore-ip-limits'),
    };
    const tables = await readTables(words.positionals[0] ?? '', newApiFile);
    requireTable(tables.has('tokens'), 'tokens');
    requireTable(tables.has('users'), 'users');
    return await carryOut(sql, words, config, planNewApi(tables, choices, await readHere(config)));
  },
};

function readChoices(words: Arguments): Choices {
  const chosen = words.text('balance') ?? 'remaining';
  return {
    balance: chosen === 'none' || chosen === 'remaining' ? chosen : readDollars(chosen, '--balance'),
    allowUnknownModels: words.flag('allow-unknown-models'),
    dropLimits: words.flag('drop-limits'),
    lifetimeAsMonthly: words.flag('lifetime-as-monthly'),
    withoutPeople: words.flag('without-people'),
  };
}

function readPositive(text: string, what: string): string {
  if (/^\d{1,12}(\.\d{1,12})?$/.test(text) && /[1-9]/.test(text)) return text;
  throw new UsageError(`${what} must be a number above zero, but is "${text}".`);
}

function requireTable(isThere: boolean, table: string): void {
  if (!isThere) throw new OperatorError(`The file has no table ${table}.`);
}

async function readHere({ catalogFile }: Config): Promise<Here> {
  const { result } = await readCatalogFile(catalogFile);
  if (!result.ok) throw new OperatorError(`The catalogue cannot be read: ${result.problems[0]}`);
  const { models, priceGroups } = result.catalog;
  return {
    now: new Date(),
    isInCatalog: (id) => models.has(id),
    isPriceGroup: (name) => priceGroups.has(name),
  };
}

async function carryOut(sql: SQL, words: Arguments, config: Config, plan: Plan): Promise<Outcome> {
  const isDryRun = words.flag('dry-run') || plan.obstacles.length > 0;
  const actor = shellActor(config);
  const made: Made = isDryRun
    ? await previewPlan(sql, actor, plan)
    : await applyPlan(sql, actor, plan, limitsOfGateway());
  const actual = planAsMade(plan, made);
  const refused = actual.dropped.filter(({ what }) => what === 'key').length;
  return {
    json: presentImport(actual, made, isDryRun),
    text: `${describePlan(actual)}\n\n${describeMade(made, isDryRun)}`,
    warnings: [
      ...made.warnings,
      ...(refused === 0 ? [] : [`Some keys are not imported: see "Not imported" (${refused}).`]),
    ],
    exitCode: plan.obstacles.length > 0 ? 1 : 0,
  };
}

export const importCommands = [litellm, newApi];
