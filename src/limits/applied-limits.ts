/**
 * Which limits a request counts towards: those of its account, its key and its end user. They are remembered by the version
 * of the account's limits, which the ledger compares, so what is remembered here may be old but is never relied on.
 */
import type { SQL } from 'bun';
import type { AppliedLimits, LimitKind, LimitMeter, LimitScope } from '../ledger/operations.ts';
import { RecentMap } from '../lib/recent-map.ts';
import { within } from '../lib/within.ts';
import { meterIdOf } from './meter-id.ts';

type LimitRow = Readonly<{ id: string; kind: LimitKind; scope: LimitScope; is_operators: boolean }>;

type Found = Readonly<{
  version: number;
  /** Whether some end user has limits of his own. */
  hasOwn: boolean;
  limits: readonly LimitRow[];
}>;

/** A key, and the version of its account's limits that is known with it. */
type Caller = Readonly<{ id: string; accountId: string; limitVersion: number }>;

const maxRemembered = 50_000;
const patienceMs = 3_000;

export class LimitsInForce {
  readonly #sql: SQL;
  /** By key. */
  readonly #ofKeys = new RecentMap<Found>(maxRemembered);
  /** By key and end user, where some have limits of their own. */
  readonly #ofEndUsers = new RecentMap<Found>(maxRemembered);
  readonly #lookups = new Map<string, Promise<Found>>();

  constructor(sql: SQL) {
    this.#sql = sql;
  }

  /** Null for an account that has never had a limit, as far as is known: then no query is needed. */
  of(key: Caller, endUser: string | null): AppliedLimits | null | Promise<AppliedLimits> {
    const ofKey = this.#ofKeys.get(key.id);
    if (ofKey === undefined && key.limitVersion === 0) return null;
    if (ofKey === undefined || ofKey.version < key.limitVersion) return this.renew(key, endUser);
    if (endUser === null || !ofKey.hasOwn) return applied(ofKey, endUser);
    const ofEndUser = this.#ofEndUsers.get(nameOf(key, endUser));
    if (ofEndUser === undefined || ofEndUser.version < ofKey.version) return this.renew(key, endUser);
    return applied(ofEndUser, endUser);
  }

  /** The version alone, as far as it is known: for what counts towards no limit. */
  versionOf({ id, limitVersion }: Caller): AppliedLimits | null {
    const version = this.#ofKeys.get(id)?.version ?? limitVersion;
    return version === 0 ? null : { version, meters: [] };
  }

  /** As they are now. */
  async renew(key: Caller, endUser: string | null): Promise<AppliedLimits> {
    const name = nameOf(key, endUser);
    const lookup = this.#lookups.get(name) ?? this.#lookUp(name, key, endUser);
    return applied(await lookup, endUser);
  }

  #lookUp(name: string, key: Caller, endUser: string | null): Promise<Found> {
    const lookup = within(patienceMs, findLimits(this.#sql, key, endUser))
      .then((found) => {
        // Without those of the end user: they come with the first of his requests that needs them.
        this.#ofKeys.set(key.id, {
          ...found,
          limits: found.limits.filter(({ scope }) => scope !== 'end_user'),
        });
        if (endUser !== null && found.hasOwn) this.#ofEndUsers.set(name, found);
        return found;
      })
      .finally(() => this.#lookups.delete(name));
    this.#lookups.set(name, lookup);
    return lookup;
  }
}

function nameOf({ id }: Caller, endUser: string | null): string {
  return endUser === null ? id : `${id} ${endUser}`;
}

async function findLimits(
  sql: SQL,
  { id: keyId, accountId }: Caller,
  endUser: string | null,
): Promise<Found> {
  const rows = await sql<(LimitRow & { version: number; has_own: boolean; id: string | null })[]>`
    select limit_version as version, applied.id, kind, scope, is_operators,
           exists (select 1 from limits where account_id = accounts.id and end_user is not null) as has_own
    from accounts left join lateral (
      select id, kind, scope, is_operators from limits
      where account_id = accounts.id and scope in ('account', 'each_end_user')
      union all
      select id, kind, scope, is_operators from limits where account_id = accounts.id and key_id = ${keyId}
      union all
      select id, kind, scope, is_operators from limits where account_id = accounts.id and end_user = ${endUser}
    ) as applied on true
    where accounts.id = ${accountId}
    order by applied.id`;
  const [first] = rows;
  return {
    version: first?.version ?? 0,
    hasOwn: first?.has_own ?? false,
    limits: rows.filter(({ id }) => id !== null),
  };
}

/** What an end user has of his own replaces what applies to each, if the same party has set it. */
function applied({ version, limits }: Found, endUser: string | null): AppliedLimits {
  const own = limits.filter(({ scope }) => scope === 'end_user');
  const isReplaced = (limit: LimitRow) =>
    own.some(({ kind, is_operators }) => kind === limit.kind && is_operators === limit.is_operators);
  const meters = limits.flatMap((limit): LimitMeter[] => {
    const { id, kind, scope } = limit;
    if (scope !== 'each_end_user') return [{ id, limitId: id, kind, scope, endUser: null }];
    if (endUser === null || isReplaced(limit)) return [];
    return [{ id: meterIdOf(id, endUser), limitId: id, kind, scope, endUser }];
  });
  return { version, meters };
}
