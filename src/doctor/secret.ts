/** The secret that signs and encrypts: whether it is set, and whether the gateways that are running have the same one. */
import type { SQL } from 'bun';
import type { Config } from '../config.ts';
import { countOtherSecrets, fingerprintOf, storedFingerprint } from '../database/node-secrets.ts';
import { deriveKeys } from '../lib/derived-keys.ts';
import { leaseSeconds } from '../nodes/lease.ts';
import { type Finding, good, warning } from './finding.ts';

type Settings = Pick<Config, 'authSecret' | 'databaseUrl'>;

export function examineSecret({ authSecret, databaseUrl }: Settings): Finding {
  if (authSecret !== null) return good('secret', 'AUTH_SECRET is set');
  if (databaseUrl === null) return good('secret', 'kept in the data folder');
  return warning(
    'secret',
    'AUTH_SECRET is not set: the secret is stored in the database, next to what it encrypts.',
    'Set AUTH_SECRET to the same value on every gateway. Generate one with: openssl rand -base64 32',
  );
}

/** Nothing when they agree. The embedded database has the secret of its data folder, so there is nothing to compare. */
export async function compareSecrets(sql: SQL, { authSecret, databaseUrl }: Settings): Promise<Finding[]> {
  if (databaseUrl === null || !(await haveNodesReports(sql))) return [];
  const own = authSecret === null ? await storedFingerprint(sql) : fingerprintOf(deriveKeys(authSecret));
  const count = await countOtherSecrets(sql, own, leaseSeconds);
  if (count === 0) return [];
  return [
    warning(
      'secret',
      `${count === 1 ? 'One running gateway has' : `${count} running gateways have`} a different secret than this environment: users are signed out when they move between gateways, and stored responses cannot be read.`,
      'Set AUTH_SECRET to the same value on every gateway.',
    ),
  ];
}

/** A database that is still empty, or of one of the first versions, has none. */
async function haveNodesReports(sql: SQL): Promise<boolean> {
  const found =
    await sql`select 1 from pg_attribute where attrelid = to_regclass('nodes') and attname = 'report'`;
  return found.length > 0;
}
