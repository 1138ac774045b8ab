/** What people read of an import, before and after it. It never has a hash, and of a key only its hint. */
import { formatMoney, formatMoneyShort } from '../lib/money.ts';
import type { Made } from './apply.ts';
import type { Carried, Plan, PlannedAccount, PlannedKey } from './plan.ts';
import { describeLimit, named } from './settings.ts';
import { lineOf } from './values.ts';

export function describePlan({ accounts, dropped, totals, obstacles }: Plan): string {
  const refused = dropped.filter(({ what }) => what === 'key');
  const details = dropped.filter(({ what }) => what === 'detail');
  return [
    ...accounts.map(describeAccount),
    section(
      'Not imported',
      refused.map(({ subject, reason }) => `${subject}: ${reason}`),
    ),
    section(
      'Left out, or worth a look',
      details.map(({ subject, reason }) => `${subject}: ${reason}`),
    ),
    section(
      'Totals',
      totals.map(({ what, before, after }) => `${what}: ${before} → ${after}`),
    ),
    section('Nothing can be imported', obstacles),
  ]
    .filter((text) => text !== '')
    .join('\n\n');
}

function section(heading: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${heading}:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}

function describeAccount(account: PlannedAccount): string {
  const { target, name, isSuspended, members, credit, keys, carried, limits } = account;
  const id = 'externalId' in target ? `external ID ${lineOf(target.externalId) ?? ''}` : target.accountId;
  const endUsers = limits.filter(({ endUser }) => endUser !== null);
  return [
    `Account ${name} (${id})${isSuspended ? ', suspended' : ''}`,
    ...(credit === null ? [] : [`  credit: ${formatMoneyShort(credit.amount)} USD`]),
    ...members.map(({ email, role }) => `  ${role}: ${email}`),
    ...carried.map((change) => `  ${arrow(change)}`),
    ...endUsers.map((limit) => `  ${describeLimit(limit)}`),
    ...keys.flatMap((key) => [`  key ${key.settings.name} ${key.hint}${stateOf(key)}`, ...settingsOf(key)]),
  ].join('\n');
}

function stateOf({ revokedAt, settings: { expiresAt } }: PlannedKey): string {
  if (revokedAt !== null) return `, revoked at ${revokedAt.toISOString()}`;
  return expiresAt === null ? '' : `, expires at ${expiresAt.toISOString()}`;
}

function settingsOf({ carried, settings: { allowedModels } }: PlannedKey): string[] {
  const models = allowedModels === null ? [] : [`    only ${allowedModels.join(', ')}`];
  return [...carried.map((change) => `    ${arrow(change)}`), ...models];
}

function arrow({ before, after }: Carried): string {
  return `${before} → ${after}`;
}

/** The plan as it was carried out, or would be: accounts that were there before do not get all of it. */
export function planAsMade(plan: Plan, { planned, dropped }: Made): Plan {
  const keys = planned.reduce((sum, account) => sum + account.keys.length, 0);
  return {
    ...plan,
    accounts: planned,
    dropped: [...plan.dropped, ...dropped],
    totals: plan.totals.map((total) => (total.what === 'keys' ? { ...total, after: `${keys}` } : total)),
  };
}

export function describeMade(made: Made, isDryRun: boolean): string {
  const part = (count: number, what: string, found: number) =>
    `${count} ${what}${found === 0 ? '' : ` (${found} were there before)`}`;
  const parts = [
    part(made.accounts, 'accounts', made.accountsFound),
    part(made.keys, 'keys', made.keysFound),
    part(made.limits, 'limits', made.limitsFound),
    part(made.credits, 'credits', made.creditsFound),
    part(made.people, 'users', 0),
  ].join(', ');
  const existing =
    made.existing.length === 0
      ? ''
      : `These accounts were there before, and stay as they are but for new keys, limits and credit: ${named(made.existing)}.\n`;
  return `${existing}${isDryRun ? `This would make ${parts}. Nothing was written.` : `Made ${parts}.`}`;
}

export function presentImport({ accounts, dropped, totals, obstacles }: Plan, made: Made, isDryRun: boolean) {
  const { existing, warnings } = made;
  return {
    dry_run: isDryRun,
    made: {
      accounts: made.accounts,
      accounts_found: made.accountsFound,
      keys: made.keys,
      keys_found: made.keysFound,
      limits: made.limits,
      limits_found: made.limitsFound,
      credits: made.credits,
      credits_found: made.creditsFound,
      people: made.people,
    },
    accounts: accounts.map(presentAccount),
    existing,
    dropped,
    totals,
    obstacles,
    warnings,
  };
}

function presentAccount({
  target,
  name,
  isSuspended,
  priceGroup,
  members,
  limits,
  credit,
  keys,
  carried,
}: PlannedAccount) {
  return {
    account: 'accountId' in target ? target.accountId : null,
    external_id: 'externalId' in target ? target.externalId : null,
    name,
    is_suspended: isSuspended,
    price_group: priceGroup,
    members,
    limits: limits.map(presentLimit),
    credit: credit === null ? null : formatMoney(credit.amount),
    carried,
    keys: keys.map(presentKey),
  };
}

function presentKey({ hint, settings, limits, revokedAt, carried }: PlannedKey) {
  return {
    name: settings.name,
    hint,
    requests_per_minute: settings.requestsPerMinute,
    max_concurrent: settings.maxConcurrent,
    monthly_limit: settings.monthlyLimit === null ? null : formatMoney(settings.monthlyLimit),
    allowed_models: settings.allowedModels,
    expires_at: settings.expiresAt?.toISOString() ?? null,
    revoked_at: revokedAt?.toISOString() ?? null,
    limits: limits.map(presentLimit),
    carried,
  };
}

function presentLimit({ endUser, kind, amount, increase }: PlannedKey['limits'][number]) {
  return {
    end_user: endUser,
    kind,
    amount: formatMoneyShort(amount),
    increase:
      increase === null
        ? null
        : { amount: formatMoneyShort(increase.amount), until: increase.until.toISOString() },
  };
}
