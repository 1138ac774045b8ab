/** Whether there are enough connections. PostgreSQL limits them for the server, for a user and for a database. */
import type { SQL } from 'bun';
import type { Config } from '../config.ts';
import { type Finding, good, warning } from './finding.ts';

/** The name of this command's own connections, which end with it and do not count. */
export const doctorName = 'tollgate-doctor';

const busyShare = 0.8;
/** Besides DATABASE_POOL: two for the ledger, and one each for the heartbeat, dead nodes, `LISTEN` and maintenance. */
const ownConnections = 6;

type Facts = {
  user: string;
  name: string;
  is_superuser: boolean;
  server_count: number;
  server_max: number;
  user_count: number;
  user_max: number;
  database_count: number;
  database_max: number;
};

export async function examineConnections(
  sql: SQL,
  { databasePool, workers }: Pick<Config, 'databasePool' | 'workers'>,
): Promise<Finding[]> {
  // Of other users' sessions, a user sees only the database and the name of the user.
  const [facts] = await sql<[Facts]>`
    select rolname as user, datname as name, rolsuper as is_superuser,
           server_count, current_setting('max_connections')::int as server_max,
           user_count, rolconnlimit as user_max, database_count, datconnlimit as database_max
    from pg_roles, pg_database,
         (select count(*)::int as server_count,
                 (count(*) filter (where usename = current_user))::int as user_count,
                 (count(*) filter (where datname = current_database()))::int as database_count
          from pg_stat_activity
          where coalesce(backend_type, 'client backend') = 'client backend' and datid is not null
            and coalesce(application_name, '') <> ${doctorName}) as counted
    where rolname = current_user and datname = current_database()`;
  return judgeConnections(facts, (databasePool + ownConnections) * workers);
}

/** A limit of -1 means none, and those of users and databases do not apply to superusers. */
export function judgeConnections(facts: Facts, gatewayCount: number): Finding[] {
  const { user, name, is_superuser: isSuperuser } = facts;
  const limits = [
    {
      whose: '',
      count: facts.server_count,
      max: facts.server_max,
      remedy: 'Raise max_connections in PostgreSQL, or look in pg_stat_activity for what uses them.',
    },
    {
      whose: ` for user "${user}"`,
      count: facts.user_count,
      max: isSuperuser ? -1 : facts.user_max,
      remedy: `Raise the limit of the user: alter role "${user}" connection limit …`,
    },
    {
      whose: ` for database "${name}"`,
      count: facts.database_count,
      max: isSuperuser ? -1 : facts.database_max,
      remedy: `Raise the limit of the database: alter database "${name}" connection limit …`,
    },
  ];
  const findings = limits.flatMap(({ whose, count, max, remedy }) => {
    if (max < 0) return [];
    if (max < gatewayCount)
      return [
        warning('connections', `${max} are allowed${whose}; a gateway uses up to ${gatewayCount}.`, remedy),
      ];
    return count > max * busyShare
      ? [warning('connections', `${count} of ${max}${whose} are in use.`, remedy)]
      : [];
  });
  return findings.length > 0
    ? findings
    : [good('connections', `${facts.server_count} of ${facts.server_max} are in use`)];
}
