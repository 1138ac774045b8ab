/** What the keys, teams, users and budgets of LiteLLM become. */
import { hashKey } from '../keys/key-format.ts';
import type { KeySettings } from '../keys/key-store.ts';
import { formatMoneyShort, type Money } from '../lib/money.ts';
import { endUserLimits } from './litellm-customers.ts';
import { LitellmRows, membershipId } from './litellm-file.ts';
import { carriedCounts, type FoundLimits, limitsIn, plannedLimits, restricts } from './litellm-limits.ts';
import { isReserved, type LitellmOwner, litellmAccount, ownerOf } from './litellm-owners.ts';
import type { Carried, Choices, Here, LitellmChoices, Plan, PlannedAccount, PlannedKey } from './plan.ts';
import type { Row, Tables } from './rows.ts';
import {
  commonModels,
  DroppedList,
  keyRates,
  type Models,
  modelProblem,
  named,
  unknownModels,
} from './settings.ts';
import { isSet, isTrue, lineIn, lineOf, listIn, textIn, timeIn } from './values.ts';

/** Keys of the web interface's sessions. */
const dashboardTeam = 'litellm-dashboard';

export function planLitellm(tables: Tables, choices: LitellmChoices, here: Here): Plan {
  const rows = new LitellmRows(tables);
  const dropped = new DroppedList();
  const obstacles: string[] = [];
  const owned = new Map<string, { owner: LitellmOwner; keys: PlannedKey[] }>();
  const own = (owner: LitellmOwner) => {
    const entry = owned.get(owner.externalId) ?? { owner, keys: [] };
    owned.set(owner.externalId, entry);
    return entry;
  };
  for (const id of rows.teams.keys()) {
    const owner = ownerOf(new Map([['team_id', id]]), rows, choices);
    if (id === dashboardTeam || 'problem' in owner) continue;
    own(owner);
    if (owner.kind === 'team' && isReserved(id))
      obstacles.push(
        `team ${lineOf(id) ?? ''}: its account could be that of another owner, whose external IDs begin like this. Give the team another ID.`,
      );
  }
  const byToken = new Map<string, { key: PlannedKey; keys: PlannedKey[] }>();
  let sessions = 0;
  for (const row of rows.keys) {
    if (textIn(row, 'team_id') === dashboardTeam) {
      sessions += 1;
      continue;
    }
    const owner = ownerOf(row, rows, choices);
    const key =
      'problem' in owner ? { problems: [owner.problem] } : planKey(row, owner, rows, choices, here, dropped);
    if ('problems' in key || 'problem' in owner) {
      dropped.key(subjectOf(row), 'problems' in key ? key.problems : []);
      continue;
    }
    const { keys } = own(owner);
    keys.push(key);
    byToken.set(textIn(row, 'token') ?? '', { key, keys });
  }
  if (sessions > 0) dropped.detail(`${sessions} keys`, 'they belong to sessions of the web interface');
  addReplacedKeys(rows, byToken, here);
  const endUsers = endUserLimits(rows, owned.size, choices, here, dropped, obstacles);
  const accounts = [...owned.values()].map(({ owner, keys }) =>
    litellmAccount(owner, keys, endUsers, rows, choices, here, dropped),
  );
  return { source: 'litellm', accounts, dropped: dropped.all, obstacles, totals: totalsOf(rows, accounts) };
}

function subjectOf(row: Row): string {
  return `key ${lineIn(row, 'key_alias') ?? '(without a name)'} ${hintOf(row)}`;
}

/** LiteLLM stores how the key ends. Anything else in that column is not shown: it might be the key. */
function hintOf(row: Row): string {
  const [, last = ''] = /^sk-\.{3}([\x21-\x7e]{4})$/.exec(textIn(row, 'key_name') ?? '') ?? [];
  return `sk-…${last}`;
}

type Refused = Readonly<{ problems: readonly string[] }>;

function planKey(
  row: Row,
  owner: LitellmOwner,
  rows: LitellmRows,
  choices: LitellmChoices,
  here: Here,
  dropped: DroppedList,
): PlannedKey | Refused {
  const hash = hashOf(row);
  const budget = rows.budgetOf(row);
  const found = limitsIn(row, budget === 'missing' ? null : budget, here.now);
  const expiresAt = timeIn(row, 'expires');
  const models = modelsOf(row, owner, rows);
  const lost = [
    ...lostOf(row, found, owner, rows, choices),
    ...(budget === 'missing' ? ['its budget, which the file does not have'] : []),
  ];
  const problems = [
    ...(hash === null ? ['its token cannot be read'] : []),
    ...(expiresAt === 'unreadable' ? ['its expiry cannot be read'] : []),
    ...(isForInference(row) ? [] : ['it is not for inference']),
    ...found.problems,
    ...refusalOf(models, here, choices),
    ...(lost.length === 0 || choices.dropLimits
      ? []
      : [`these have no counterpart: ${lost.join(', ')} (--drop-limits leaves them out)`]),
    ...(found.lifetime === null || choices.lifetimeAsMonthly ? [] : [lifetimeProblem(found.lifetime.budget)]),
  ];
  if (problems.length > 0 || hash === null || expiresAt === 'unreadable' || models === 'unreadable')
    return { problems };
  const subject = subjectOf(row);
  for (const what of [...(choices.dropLimits ? lost : []), ...found.notes, ...unsupportedOf(row)])
    dropped.detail(subject, what);
  const unknown = unknownModels(models, here);
  if (unknown.length > 0) dropped.detail(subject, `not in the catalogue yet: ${named(unknown)}`);
  const isBlocked = isTrue(row, 'blocked') || owner.isKeyBlocked;
  if (isBlocked) dropped.detail(subject, 'it is blocked, and becomes a revoked key, which cannot be revived');
  return {
    hash,
    hint: hintOf(row),
    ...settingsOf(row, found, models, expiresAt),
    limits: plannedLimits(found, 'key'),
    revokedAt: isBlocked ? here.now : null,
  };
}

function refusalOf(models: Models | 'unreadable', here: Here, choices: Choices): string[] {
  const problem = models === 'unreadable' ? 'its models cannot be read' : modelProblem(models, here, choices);
  return problem === null ? [] : [problem];
}

/** LiteLLM writes the kind of a key as routes that it may use. */
function isForInference(row: Row): boolean {
  const routes = listIn(row, 'allowed_routes') ?? [];
  const isOther = routes.some((route) => route === 'management_routes' || route === 'info_routes');
  if (isOther && !routes.includes('llm_api_routes')) return false;
  return !/^(management|read_only)$/.test(textIn(row, 'key_type') ?? '');
}

/** 64 hexadecimal digits are the hash of a key that begins with sk-. Any other key is stored as it is. */
function hashOf(row: Row): Buffer | null {
  const token = textIn(row, 'token');
  if (token === null || token.length > 256) return null;
  return /^[0-9a-f]{64}$/i.test(token) ? Buffer.from(token, 'hex') : hashKey(token);
}

function lifetimeProblem(budget: Money): string {
  return `its budget of ${formatMoneyShort(budget)} USD is for life (--lifetime-as-monthly limits each month to what is left of it)`;
}

function settingsOf(row: Row, found: FoundLimits, models: Models, expiresAt: Date | null) {
  const rates = keyRates(found.requestsPerMinute, found.concurrent);
  const month = found.spend.get('month') ?? null;
  const left = found.lifetime?.remaining ?? null;
  const monthlyLimit = left !== null && (month === null || left < month) ? left : month;
  const settings: KeySettings = {
    name: lineIn(row, 'key_alias') ?? hintOf(row),
    requestsPerMinute: rates.requestsPerMinute,
    maxConcurrent: rates.maxConcurrent,
    monthlyLimit,
    allowedModels: models,
    expiresAt,
  };
  const lifetime: Carried[] =
    found.lifetime === null
      ? []
      : [
          {
            before: `budget ${formatMoneyShort(found.lifetime.budget)} for life`,
            after: `${formatMoneyShort(found.lifetime.remaining)} USD a month, which is looser from the second month on`,
          },
        ];
  const limits = plannedLimits(found, 'key');
  return { settings, carried: [...rates.carried, ...found.carried, ...lifetime, ...carriedCounts(limits)] };
}

/** Restrictions of the key, and of what is above it and is not its account. */
function lostOf(
  row: Row,
  found: FoundLimits,
  owner: LitellmOwner,
  rows: LitellmRows,
  choices: LitellmChoices,
): string[] {
  const routes = listIn(row, 'allowed_routes');
  const [teamId, userId] = [textIn(row, 'team_id'), textIn(row, 'user_id')];
  const isMember = teamId !== null && userId !== null;
  const member = isMember ? rows.memberships?.get(membershipId(teamId, userId)) : undefined;
  return [
    ...found.lost,
    ...owner.lost,
    ...(routes === null || routes.some((route) => route !== 'llm_api_routes')
      ? ['its list of allowed routes']
      : []),
    ...(textIn(row, 'project_id') === null ? [] : ['the limits of its project']),
    ...(isMember && rows.memberships === null
      ? ['limits of members of teams, which the file does not have']
      : []),
    ...(member !== undefined && rows.budgetOf(member) !== null
      ? ['the budget of its owner in the team']
      : []),
    ...(choices.byOrganization && teamId !== null ? teamLimits(rows.teams.get(teamId) ?? null, rows) : []),
  ];
}

function teamLimits(team: Row | null, rows: LitellmRows): string[] {
  if (team === null) return [];
  const budget = rows.budgetOf(team);
  const found = limitsIn(team, budget === 'missing' ? null : budget, new Date(0));
  return budget === 'missing' || restricts(found) ? ['the limits of its team'] : [];
}

const unsupportedColumns: readonly (readonly [string, string])[] = [
  ['aliases', 'its aliases of models'],
  ['config', 'its config'],
  ['permissions', 'its permissions'],
  ['router_settings', 'its router settings'],
  ['object_permission_id', 'its permissions for tools and vector stores'],
  ['budget_fallbacks', 'its budget fallbacks'],
  ['agent_id', 'its agent'],
  ['auto_rotate', 'its automatic rotation'],
];

function unsupportedOf(row: Row): string[] {
  const isOn = (name: string) => (name === 'auto_rotate' ? isTrue(row, name) : isSet(row, name));
  return unsupportedColumns.filter(([name]) => isOn(name)).map(([, words]) => words);
}

/** What the key, its team and its shared budget allow. */
function modelsOf(row: Row, owner: LitellmOwner, rows: LitellmRows): Models | 'unreadable' {
  const budget = rows.budgetOf(row);
  const lists = [
    listIn(row, 'models'),
    owner.models,
    budget === null || budget === 'missing' ? [] : listIn(budget, 'allowed_models'),
  ].map((list) => (list === null ? 'unreadable' : allowedBy(list)));
  const readable = lists.filter((list) => list !== 'unreadable');
  return readable.length === lists.length ? commonModels(readable) : 'unreadable';
}

function allowedBy(list: readonly string[]): Models {
  if (list.length === 0 || list.includes('all-proxy-models') || list.includes('all-team-models')) return null;
  return [...new Set(list.filter((model) => model !== 'no-default-models'))];
}

/** Keys that were replaced and are still valid for a while. */
function addReplacedKeys(
  rows: LitellmRows,
  byToken: ReadonlyMap<string, { key: PlannedKey; keys: PlannedKey[] }>,
  { now }: Here,
): void {
  for (const row of rows.replacedKeys) {
    const active = byToken.get(textIn(row, 'active_token_id') ?? '');
    const revokedAt = timeIn(row, 'revoke_at');
    const hash = hashOf(row);
    if (active === undefined || hash === null || !(revokedAt instanceof Date) || revokedAt <= now) continue;
    active.keys.push({ ...active.key, hash, hint: 'sk-…', revokedAt: active.key.revokedAt ?? revokedAt });
  }
}

function totalsOf(rows: LitellmRows, accounts: readonly PlannedAccount[]) {
  const keys = accounts.reduce((sum, account) => sum + account.keys.length, 0);
  const credits = accounts.reduce((sum, { credit }) => sum + (credit?.amount ?? 0n), 0n);
  return [
    {
      what: 'keys',
      before: `${rows.keys.length}, and ${rows.replacedKeys.length} that were replaced`,
      after: `${keys}`,
    },
    {
      what: 'accounts',
      before: `${rows.teams.size} teams, ${rows.users.size} users`,
      after: `${accounts.length}`,
    },
    { what: 'credit (USD)', before: 'LiteLLM has no balances', after: formatMoneyShort(credits) },
  ];
}
