/** Whose a key of LiteLLM is: the account that its team, user or organisation becomes. */
import { formatMoneyShort } from '../lib/money.ts';
import { isEmailAddress, type Role } from '../people/user-store.ts';
import { asObject } from './json-export.ts';
import type { LitellmRows } from './litellm-file.ts';
import { carriedCounts, limitsIn, plannedLimits, restricts } from './litellm-limits.ts';
import type {
  Carried,
  Here,
  LitellmChoices,
  PlannedAccount,
  PlannedCredit,
  PlannedKey,
  PlannedLimit,
} from './plan.ts';
import type { Row } from './rows.ts';
import { type DroppedList, isExternalId, named } from './settings.ts';
import { isTrue, jsonIn, lineIn, lineOf, listIn, textIn } from './values.ts';

export type LitellmOwner = Readonly<{
  kind: 'team' | 'user' | 'organization' | 'nobody';
  externalId: string;
  /** The row of the owner, which has the limits of the account; null for nobody. */
  row: Row | null;
  /** What the owner allows its keys; empty for every model, null when it cannot be read. */
  models: readonly string[] | null;
  /** Limits above the account. */
  lost: readonly string[];
  /** Its team is blocked, which is not the account. */
  isKeyBlocked: boolean;
}>;

type Problem = Readonly<{ problem: string }>;

/** The external IDs of accounts that no team becomes: a team with such an ID might share the account of another owner. */
const reservedPrefixes: readonly string[] = ['user:', 'organization:', 'litellm:', 'new-api:'];

export function isReserved(teamId: string): boolean {
  return reservedPrefixes.some((prefix) => teamId.startsWith(prefix));
}

export function ownerOf(
  key: Row,
  rows: LitellmRows,
  { byOrganization }: LitellmChoices,
): LitellmOwner | Problem {
  const teamId = textIn(key, 'team_id');
  const userId = textIn(key, 'user_id');
  const team = teamId === null ? null : (rows.teams.get(teamId) ?? null);
  const user = userId === null ? null : (rows.users.get(userId) ?? null);
  if (teamId !== null && team === null) return { problem: 'its team is not in the file' };
  const organizationId =
    textIn(key, 'organization_id') ?? (team === null ? null : textIn(team, 'organization_id'));
  const models = team === null ? (user === null ? [] : listIn(user, 'models')) : listIn(team, 'models');
  const common = { models, lost: [], isKeyBlocked: false };
  if (byOrganization && organizationId !== null) {
    const row = rows.organizations.get(organizationId);
    if (row === undefined) return { problem: 'its organization is not in the file' };
    const isKeyBlocked = team !== null && isTrue(team, 'blocked');
    return checked({
      ...common,
      kind: 'organization',
      externalId: `organization:${organizationId}`,
      row,
      isKeyBlocked,
    });
  }
  const lost = organizationId === null ? [] : organizationLimits(organizationId, rows);
  if (team !== null) return checked({ ...common, kind: 'team', externalId: teamId ?? '', row: team, lost });
  if (userId === null) return { ...common, kind: 'nobody', externalId: 'litellm:nobody', row: null, lost };
  if (user === null) return { problem: 'its user is not in the file' };
  return checked({ ...common, kind: 'user', externalId: `user:${userId}`, row: user, lost });
}

function checked(owner: LitellmOwner): LitellmOwner | Problem {
  return isExternalId(owner.externalId) ? owner : { problem: 'the ID of its owner cannot be stored' };
}

function organizationLimits(id: string, rows: LitellmRows): string[] {
  const row = rows.organizations.get(id);
  if (row === undefined) return ['the limits of its organization, which the file does not have'];
  const budget = rows.budgetOf(row);
  if (budget === null) return [];
  return budget === 'missing' || restricts(limitsIn(budget, null, new Date(0)))
    ? ['the budget of its organization']
    : [];
}

export function litellmAccount(
  owner: LitellmOwner,
  keys: readonly PlannedKey[],
  endUsers: readonly PlannedLimit[],
  rows: LitellmRows,
  choices: LitellmChoices,
  here: Here,
  dropped: DroppedList,
): PlannedAccount {
  const { kind, externalId, row } = owner;
  const name = row === null ? 'Imported from LiteLLM' : nameOf(row, externalId);
  const subject = `account ${name}`;
  const budget = row === null ? null : rows.budgetOf(row);
  const found = limitsIn(row ?? new Map(), budget === 'missing' ? null : budget, here.now);
  const own = plannedLimits(found, 'account');
  const lost = [
    ...found.lost,
    ...found.problems,
    ...(budget === 'missing' ? ['its budget, which the file does not have'] : []),
  ];
  const isRefused = lost.length > 0 && !choices.dropLimits && keys.length > 0;
  if (isRefused)
    dropped.key(`all ${keys.length} keys of ${subject}`, [
      `these limits of it have no counterpart: ${lost.join(', ')} (--drop-limits leaves them out)`,
    ]);
  else for (const what of [...lost, ...found.notes]) dropped.detail(subject, what);
  const credit = creditOf(owner, found.lifetime, choices);
  if (choices.balance === 'remaining' && found.lifetime === null)
    dropped.detail(subject, 'nothing is credited: it has no budget for life');
  const lifetime: Carried[] =
    found.lifetime === null
      ? []
      : [
          {
            before: `budget ${formatMoneyShort(found.lifetime.budget)} for life, ${formatMoneyShort(found.lifetime.remaining)} of it left`,
            after: `balance: ${formatMoneyShort(credit?.amount ?? 0n)} USD added`,
          },
        ];
  return {
    target:
      kind === 'nobody' && choices.accountId !== null ? { accountId: choices.accountId } : { externalId },
    name,
    isSuspended: row !== null && isTrue(row, 'blocked'),
    priceGroup: null,
    members: choices.withoutPeople ? [] : membersOf(owner, rows, subject, dropped),
    limits: [...own, ...endUsers],
    credit,
    keys: isRefused ? [] : keys,
    carried: [...found.carried, ...lifetime, ...carriedCounts(own)],
  };
}

function nameOf(row: Row, externalId: string): string {
  const names = ['team_alias', 'user_alias', 'user_email', 'organization_alias'];
  return names.flatMap((column) => lineIn(row, column) ?? []).at(0) ?? lineOf(externalId) ?? 'Imported';
}

/** The reference is always the same, so that the credit is given once. */
function creditOf(
  { kind, externalId }: LitellmOwner,
  lifetime: Readonly<{ remaining: bigint }> | null,
  { balance }: LitellmChoices,
): PlannedCredit | null {
  const amount = balance === 'none' ? 0n : balance === 'remaining' ? (lifetime?.remaining ?? 0n) : balance;
  if (amount === 0n) return null;
  return {
    amount,
    reference: `litellm:${kind === 'team' ? `team:${externalId}` : externalId}`.slice(0, 200),
    memo: 'Balance taken over from LiteLLM',
  };
}

/** Administrators of a team become owners, and everyone else members. A user owns his account. */
function membersOf({ kind, row }: LitellmOwner, rows: LitellmRows, subject: string, dropped: DroppedList) {
  if (row === null || kind === 'nobody' || kind === 'organization') return [];
  const roles =
    kind === 'user' ? new Map<string, Role>([[textIn(row, 'user_id') ?? '', 'owner']]) : rolesIn(row);
  const members = new Map<string, Role>();
  const unknown: string[] = [];
  for (const [person, role] of roles) {
    const user = rows.users.get(person);
    const address = (user === undefined ? person : textIn(user, 'user_email'))?.toLowerCase() ?? '';
    if (!isEmailAddress(address)) unknown.push(lineOf(person) ?? '');
    else if (members.get(address) !== 'owner') members.set(address, role);
  }
  if (unknown.length > 0) dropped.detail(subject, `these people have no e-mail address: ${named(unknown)}`);
  return [...members].map(([email, role]) => ({ email, role }));
}

function rolesIn(team: Row): Map<string, Role> {
  const roles = new Map<string, Role>();
  const add = (person: unknown, role: Role) => {
    if (typeof person === 'string' && person !== '' && roles.get(person) !== 'owner') roles.set(person, role);
  };
  const list = jsonIn(team, 'members_with_roles');
  for (const item of Array.isArray(list) ? list : []) {
    const member = asObject(item);
    add(
      member?.get('user_email') ?? member?.get('user_id'),
      member?.get('role') === 'admin' ? 'owner' : 'member',
    );
  }
  for (const person of listIn(team, 'admins') ?? []) add(person, 'owner');
  for (const person of listIn(team, 'members') ?? []) add(person, 'member');
  return roles;
}
