/** Opens the gateway's secret, and reports what is wrong with it. */
import type { SQL } from 'bun';
import type { Config } from '../config.ts';
import { findSecret } from '../database/gateway-secret.ts';
import { countOtherSecrets, fingerprintOf } from '../database/node-secrets.ts';
import { type DerivedKeys, deriveKeys } from '../lib/derived-keys.ts';
import type { Log } from '../lib/log.ts';
import { leaseSeconds } from '../nodes/lease.ts';

export async function openSecret(config: Config, sql: SQL, log: Log): Promise<DerivedKeys> {
  const deriveKey = deriveKeys(await findSecret(config, sql));
  // The parent of a worker has reported these for all of them.
  if (config.worker === null) await reportProblems(config, sql, deriveKey, log);
  return deriveKey;
}

async function reportProblems(config: Config, sql: SQL, deriveKey: DerivedKeys, log: Log): Promise<void> {
  if (config.authSecret === null && config.databaseUrl !== null)
    log.warn('AUTH_SECRET is not set: the secret is stored in the database, next to what it encrypts');
  const count = await countOtherSecrets(sql, fingerprintOf(deriveKey), leaseSeconds);
  // Not an error, because this is how a secret is changed without stopping all gateways at once.
  if (count > 0)
    log.warn(
      'running gateways have another AUTH_SECRET: people are signed out when they move between them, and stored responses cannot be read',
      { count },
    );
}
