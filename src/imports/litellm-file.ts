/** Which tables and columns of LiteLLM are read, and how a JSON file names them. Provider keys and logs are in other tables. */
import { asObject } from './json-export.ts';
import type { Readable } from './open-file.ts';
import type { Row, Tables } from './rows.ts';
import { textIn } from './values.ts';

export const tableNames = {
  keys: 'LiteLLM_VerificationToken',
  replacedKeys: 'LiteLLM_DeprecatedVerificationToken',
  teams: 'LiteLLM_TeamTable',
  users: 'LiteLLM_UserTable',
  organizations: 'LiteLLM_OrganizationTable',
  budgets: 'LiteLLM_BudgetTable',
  memberships: 'LiteLLM_TeamMembership',
  customers: 'LiteLLM_EndUserTable',
} as const;

const limits = ['max_budget', 'budget_duration', 'spend', 'rpm_limit', 'tpm_limit', 'max_parallel_requests'];
const more = ['budget_limits', 'tpd_limit', 'model_max_budget', 'policies', 'metadata'];
/** JSON has the shared budget within what shares it. */
const shared = ['budget_id', 'litellm_budget_table'];
const unsupported = [
  'aliases',
  'config',
  'permissions',
  'router_settings',
  'object_permission_id',
  'budget_fallbacks',
];

export const litellmFile: Readable = {
  wanted: new Map([
    [
      tableNames.keys,
      [
        ...[
          'token',
          'key_alias',
          'key_name',
          'expires',
          'blocked',
          'models',
          'allowed_routes',
          'key_type',
          'auto_rotate',
        ],
        ...['team_id', 'user_id', 'organization_id', 'project_id', 'agent_id'],
        ...limits,
        ...more,
        ...shared,
        ...unsupported,
      ],
    ],
    [tableNames.replacedKeys, ['token', 'active_token_id', 'revoke_at']],
    [
      tableNames.teams,
      [
        ...[
          'team_id',
          'team_alias',
          'organization_id',
          'members_with_roles',
          'admins',
          'members',
          'models',
          'blocked',
        ],
        ...['team_memberships', ...limits, ...more, ...shared],
      ],
    ],
    [tableNames.users, ['user_id', 'user_email', 'user_alias', 'user_role', 'models', ...limits, ...more]],
    [tableNames.organizations, ['organization_id', 'organization_alias', 'spend', ...shared]],
    [
      tableNames.budgets,
      [
        'budget_id',
        'soft_budget',
        'temp_budget_increase',
        'temp_budget_expiry',
        'allowed_models',
        ...limits,
        ...more,
      ],
    ],
    [tableNames.memberships, ['user_id', 'team_id', ...shared]],
    [tableNames.customers, ['user_id', 'blocked', 'spend', ...shared]],
  ]),
  jsonNames: new Map(
    Object.entries(tableNames).map(([name, table]) => [
      name === 'replacedKeys' ? 'replaced_keys' : name,
      table,
    ]),
  ),
  isSqlite: false,
};

/** The rows, found by their IDs. */
export class LitellmRows {
  readonly keys: readonly Row[];
  readonly replacedKeys: readonly Row[];
  readonly teams: ReadonlyMap<string, Row>;
  readonly users: ReadonlyMap<string, Row>;
  readonly organizations: ReadonlyMap<string, Row>;
  readonly customers: readonly Row[];
  /** By team and user. Null when the file does not have them. */
  readonly memberships: ReadonlyMap<string, Row> | null;
  readonly hasCustomers: boolean;
  readonly #budgets: ReadonlyMap<string, Row>;

  constructor(tables: Tables) {
    this.keys = tables.of(tableNames.keys);
    this.replacedKeys = tables.of(tableNames.replacedKeys);
    this.teams = byId(tables.of(tableNames.teams), 'team_id');
    this.users = byId(tables.of(tableNames.users), 'user_id');
    this.organizations = byId(tables.of(tableNames.organizations), 'organization_id');
    this.customers = tables.of(tableNames.customers);
    this.hasCustomers = tables.has(tableNames.customers);
    this.#budgets = byId(tables.of(tableNames.budgets), 'budget_id');
    const memberships = tables.has(tableNames.memberships)
      ? tables.of(tableNames.memberships)
      : membershipsIn([...this.teams.values()]);
    this.memberships =
      memberships === null
        ? null
        : new Map(
            memberships.map((row) => [membershipId(textIn(row, 'team_id'), textIn(row, 'user_id')), row]),
          );
  }

  /** The budget that a row shares with others; null when it has none, 'missing' when the file does not have it. */
  budgetOf(row: Row): Row | null | 'missing' {
    const id = textIn(row, 'budget_id');
    const within = asObject(row.get('litellm_budget_table'));
    if (id === null) return within;
    return this.#budgets.get(id) ?? within ?? 'missing';
  }
}

export function membershipId(teamId: string | null, userId: string | null): string {
  return JSON.stringify([teamId, userId]);
}

function byId(rows: readonly Row[], name: string): ReadonlyMap<string, Row> {
  return new Map(
    rows.flatMap((row) => {
      const id = textIn(row, name);
      return id === null ? [] : [[id, row]];
    }),
  );
}

/** /team/info has them within the team. */
function membershipsIn(teams: readonly Row[]): Row[] | null {
  const lists = teams.map((team) => team.get('team_memberships'));
  if (teams.length > 0 && !lists.every(Array.isArray)) return null;
  return lists.flat().flatMap((item) => asObject(item) ?? []);
}
