/** What the users and tokens of new-api become. one-api and its other descendants have the same tables, with fewer columns. */
import { hashKey } from '../keys/key-format.ts';
import type { KeySettings } from '../keys/key-store.ts';
import { formatMoneyShort, type Money } from '../lib/money.ts';
import { isEmailAddress } from '../people/user-store.ts';
import { asObject } from './json-export.ts';
import { type Unit, unitOf, usdOf } from './new-api-units.ts';
import type { Readable } from './open-file.ts';
import type {
  Carried,
  Here,
  NewApiChoices,
  Plan,
  PlannedAccount,
  PlannedCredit,
  PlannedKey,
} from './plan.ts';
import type { Row, Tables } from './rows.ts';
import { DroppedList, keyRates, type Models, modelProblem, named, unknownModels } from './settings.ts';
import { amountOf, countIn, isTrue, jsonIn, lineIn, lineOf, textIn } from './values.ts';

const userColumns = [
  'id',
  'username',
  'display_name',
  'email',
  'role',
  'status',
  'quota',
  'aff_quota',
  'group',
  'deleted_at',
];
const tokenColumns = [
  ...['id', 'user_id', 'key', 'name', 'status', 'expired_time', 'remain_quota', 'unlimited_quota'],
  ...['model_limits_enabled', 'model_limits', 'models', 'allow_ips', 'subnet', 'group', 'deleted_at'],
];

/** Channels, with the keys of providers, are in a table that is not read. */
export const newApiFile: Readable = {
  wanted: new Map([
    ['users', userColumns],
    ['tokens', tokenColumns],
    ['options', ['key', 'value']],
    ['user_subscriptions', ['user_id', 'amount_total', 'amount_used', 'end_time', 'status']],
  ]),
  jsonNames: null,
  isSqlite: true,
};

export function planNewApi(tables: Tables, choices: NewApiChoices, here: Here): Plan {
  const options = new Map(tables.of('options').map((row) => [textIn(row, 'key'), textIn(row, 'value')]));
  const unit = unitOf(tables.has('options'), options.get('QuotaPerUnit') ?? null, choices);
  if ('problem' in unit)
    return { source: 'new-api', accounts: [], dropped: [], obstacles: [unit.problem], totals: [] };
  const dropped = new DroppedList();
  const ratios =
    asObject(jsonIn(new Map([['ratios', options.get('GroupRatio') ?? null]]), 'ratios')) ?? new Map();
  const users = new Map(tables.of('users').map((row) => [textIn(row, 'id') ?? '', row]));
  const keys = new Map<string, PlannedKey[]>();
  for (const row of tables.of('tokens')) {
    const userId = textIn(row, 'user_id') ?? '';
    const owner = users.get(userId);
    if (textIn(row, 'deleted_at') !== null || (owner !== undefined && textIn(owner, 'deleted_at') !== null))
      continue;
    const key =
      owner === undefined
        ? { problems: ['its user is not in the file'] }
        : planKey(row, unit, choices, here, dropped);
    if ('problems' in key) dropped.key(subjectOf(row), key.problems);
    else {
      const others = keys.get(userId);
      if (others === undefined) keys.set(userId, [key]);
      else others.push(key);
    }
  }
  const accounts = [...users.values()]
    .filter((row) => textIn(row, 'deleted_at') === null)
    .map((row) =>
      planAccount(row, keys.get(textIn(row, 'id') ?? '') ?? [], unit, ratios, choices, here, dropped),
    );
  noteSubscriptions(tables.of('user_subscriptions'), unit, here, dropped);
  return {
    source: 'new-api',
    accounts,
    dropped: dropped.all,
    obstacles: [],
    totals: totalsOf(tables, unit, accounts),
  };
}

function subjectOf(row: Row): string {
  return `key ${lineIn(row, 'name') ?? '(without a name)'} ${hintOf(textIn(row, 'key') ?? '', false)}`;
}

/** The last four characters of a key that is long enough for that. */
function hintOf(key: string, isBare: boolean): string {
  const last = key.trim().length >= 16 ? key.trim().slice(-4) : '';
  return `${isBare ? '' : 'sk-'}…${lineOf(last) ?? ''}`;
}

type Refused = Readonly<{ problems: readonly string[] }>;

const status = { enabled: '1', disabled: '2', expired: '3' } as const;

/** A key that has only expired keeps its expiry; everything else that is not enabled stays without effect. */
function hasEnded(state: string | null, expiresAt: Date | null | 'unreadable', now: Date): boolean {
  if (state === status.expired) return !(expiresAt instanceof Date && expiresAt <= now);
  return state !== status.enabled;
}

function planKey(
  row: Row,
  unit: Unit,
  choices: NewApiChoices,
  here: Here,
  dropped: DroppedList,
): PlannedKey | Refused {
  const secret = secretOf(row, choices);
  const expiresAt = expiryOf(row);
  const models = modelsOf(row);
  const limit = isTrue(row, 'unlimited_quota') ? null : countIn(row, 'remain_quota');
  const addresses = textIn(row, 'allow_ips') ?? textIn(row, 'subnet') ?? '';
  const model = modelProblem(models, here, choices);
  const isEnded = hasEnded(textIn(row, 'status'), expiresAt, here.now);
  const problems = [
    ...(secret === null ? ['its key has a form that cannot be imported'] : []),
    ...(expiresAt === 'unreadable' ? ['its expiry cannot be read'] : []),
    ...(limit === 'unreadable' ? ['its quota cannot be read'] : []),
    ...(model === null ? [] : [model]),
    ...(addresses.trim() === '' || choices.ignoreIpLimits
      ? []
      : ['it is limited to addresses, which has no counterpart (--ignore-ip-limits leaves that out)']),
    ...(limit === null || choices.lifetimeAsMonthly || isEnded
      ? []
      : ['its quota is for life (--lifetime-as-monthly limits each month to what is left of it)']),
  ];
  if (problems.length > 0 || secret === null || expiresAt === 'unreadable' || limit === 'unreadable')
    return { problems };
  const subject = subjectOf(row);
  const unknown = unknownModels(models, here);
  if (unknown.length > 0) dropped.detail(subject, `not in the catalogue yet: ${named(unknown)}`);
  if (addresses.trim() !== '') dropped.detail(subject, 'its limit to addresses');
  if (isEnded)
    dropped.detail(
      subject,
      'it is disabled or exhausted, and becomes a revoked key, which cannot be revived',
    );
  const group = lineIn(row, 'group');
  if (group !== null) dropped.detail(subject, `its own group ${group}: prices are of the account`);
  return {
    hash: hashKey(secret),
    hint: hintOf(textIn(row, 'key') ?? '', choices.isBare),
    ...settingsOf(row, limit, unit, models, expiresAt),
    limits: [],
    revokedAt: isEnded ? here.now : null,
  };
}

/** What customers send. Older keys have 32 characters. */
function secretOf(row: Row, { isBare }: NewApiChoices): string | null {
  const key = (textIn(row, 'key') ?? '').trim();
  if (!/^[\w-]{16,128}$/.test(key)) return null;
  return isBare || key.startsWith('sk-') ? key : `sk-${key}`;
}

/** −1 is never; everything else is a time in seconds. */
function expiryOf(row: Row): Date | null | 'unreadable' {
  const seconds = countIn(row, 'expired_time');
  if (seconds === null || seconds === -1n) return null;
  if (seconds === 'unreadable' || seconds < 0n || seconds > 250_000_000_000n) return 'unreadable';
  return new Date(Number(seconds) * 1_000);
}

/** Some descendants call the list `models` and have no switch for it. */
function modelsOf(row: Row): Models {
  const list = isTrue(row, 'model_limits_enabled') ? textIn(row, 'model_limits') : textIn(row, 'models');
  if (list === null) return isTrue(row, 'model_limits_enabled') ? [] : null;
  return [...new Set(list.split(',').map((model) => model.trim()))].filter((model) => model !== '');
}

function settingsOf(row: Row, limit: bigint | null, unit: Unit, models: Models, expiresAt: Date | null) {
  const rates = keyRates(null, null);
  const monthlyLimit = limit === null ? null : usdOf(limit > 0n ? limit : 0n, unit);
  const settings: KeySettings = {
    name: lineIn(row, 'name') ?? 'API key',
    requestsPerMinute: rates.requestsPerMinute,
    maxConcurrent: rates.maxConcurrent,
    monthlyLimit,
    allowedModels: models,
    expiresAt,
  };
  const quota: Carried[] =
    monthlyLimit === null
      ? []
      : [
          {
            before: `remain_quota ${limit}`,
            after: `${formatMoneyShort(monthlyLimit)} USD a month, which is looser from the second month on`,
          },
        ];
  return { settings, carried: [...rates.carried, ...quota] };
}

function planAccount(
  row: Row,
  keys: readonly PlannedKey[],
  unit: Unit,
  ratios: ReadonlyMap<string, unknown>,
  choices: NewApiChoices,
  here: Here,
  dropped: DroppedList,
): PlannedAccount {
  const id = textIn(row, 'id') ?? '';
  const name = lineIn(row, 'display_name') ?? lineIn(row, 'username') ?? `User ${lineOf(id) ?? ''}`;
  const subject = `account ${name}`;
  const credit = creditOf(row, id, unit, choices, subject, dropped);
  const group = lineIn(row, 'group', 40) ?? 'default';
  const priceGroup = here.isPriceGroup(group) ? group : null;
  const ratio = amountOf(String(ratios.get(group) ?? '1'));
  if (priceGroup === null && ratio !== amountOf('1'))
    dropped.detail(
      subject,
      `its group ${group} pays ${lineOf(String(ratios.get(group)), 20)} times the price: the catalogue has no price group of this name`,
    );
  const email = (textIn(row, 'email') ?? '').toLowerCase();
  const hasAddress = isEmailAddress(email);
  if (!hasAddress && !choices.withoutPeople)
    dropped.detail(subject, 'its user has no e-mail address, so nobody can sign in');
  if ((countIn(row, 'role') ?? 1n) !== 1n)
    dropped.detail(subject, 'the rights of its user as an administrator');
  return {
    target: { externalId: `new-api:${id}` },
    name,
    isSuspended: textIn(row, 'status') === status.disabled,
    priceGroup,
    members: hasAddress && !choices.withoutPeople ? [{ email, role: 'owner' }] : [],
    limits: [],
    credit,
    keys,
    carried: [
      {
        before: `quota ${countIn(row, 'quota') ?? 0}`,
        after: `balance: ${formatMoneyShort(credit?.amount ?? 0n)} USD added`,
      },
      ...(priceGroup === null ? [] : [{ before: `group ${group}`, after: `price group ${priceGroup}` }]),
    ],
  };
}

function creditOf(
  row: Row,
  id: string,
  unit: Unit,
  { balance }: NewApiChoices,
  subject: string,
  dropped: DroppedList,
): PlannedCredit | null {
  const quota = countIn(row, 'quota') ?? 0n;
  const referral = countIn(row, 'aff_quota');
  if (typeof referral === 'bigint' && referral > 0n)
    dropped.detail(
      subject,
      `referral credit of ${formatMoneyShort(usdOf(referral, unit))} USD that was not moved to the balance`,
    );
  if (quota === 'unreadable') dropped.detail(subject, 'its quota cannot be read: nothing is credited');
  else if (quota < 0n) dropped.detail(subject, `its quota is ${quota}: it begins at 0`);
  const left = quota === 'unreadable' || quota < 0n ? 0n : usdOf(quota, unit);
  const amount = balance === 'none' ? 0n : balance === 'remaining' ? left : balance;
  return amount === 0n
    ? null
    : { amount, reference: `new-api:user:${id}`, memo: 'Balance taken over from new-api' };
}

function noteSubscriptions(rows: readonly Row[], unit: Unit, { now }: Here, dropped: DroppedList): void {
  for (const row of rows) {
    const [total, used, end] = [
      countIn(row, 'amount_total'),
      countIn(row, 'amount_used') ?? 0n,
      countIn(row, 'end_time'),
    ];
    const isOver = typeof end === 'bigint' && end * 1_000n <= BigInt(now.getTime());
    if (textIn(row, 'status') !== 'active' || isOver || typeof total !== 'bigint' || typeof used !== 'bigint')
      continue;
    const left =
      total === 0n
        ? 'without a limit'
        : `${formatMoneyShort(usdOf(total > used ? total - used : 0n, unit))} USD left`;
    dropped.detail(`user ${lineIn(row, 'user_id') ?? ''}`, `a subscription, ${left}`);
  }
}

function totalsOf(tables: Tables, unit: Unit, accounts: readonly PlannedAccount[]) {
  const rows = tables.of('users').filter((row) => textIn(row, 'deleted_at') === null);
  const quotas = rows.reduce((sum, row) => {
    const quota = countIn(row, 'quota');
    return typeof quota === 'bigint' && quota > 0n ? sum + quota : sum;
  }, 0n);
  const tokens = tables.of('tokens').filter((row) => textIn(row, 'deleted_at') === null);
  const credits = accounts.reduce<Money>((sum, { credit }) => sum + (credit?.amount ?? 0n), 0n);
  const keys = accounts.reduce((sum, account) => sum + account.keys.length, 0);
  return [
    { what: 'keys', before: `${tokens.length}`, after: `${keys}` },
    { what: 'accounts', before: `${rows.length} users`, after: `${accounts.length}` },
    {
      what: 'credit (USD)',
      before: `quota ${quotas}, ${unit.words}: ${formatMoneyShort(usdOf(quotas, unit))}`,
      after: formatMoneyShort(credits),
    },
  ];
}
