/**
 * Nodes report a fingerprint of their secret. Two nodes with different secrets sign people out of each other and cannot read
 * each other's stored responses, which nobody would notice until it happens.
 */
import type { SQL } from 'bun';
import { type DerivedKeys, deriveKeys } from '../lib/derived-keys.ts';

/** It identifies a secret and reveals nothing about it. */
export function fingerprintOf(deriveKey: DerivedKeys): string {
  return deriveKey('fingerprint').toString('hex', 0, 8);
}

/** How many running nodes have another secret. Nodes of older versions report none. */
export async function countOtherSecrets(
  sql: SQL,
  fingerprint: string | null,
  leaseSeconds: number,
): Promise<number> {
  const [{ count }] = await sql<[{ count: number }]>`
    select count(*)::int as count from nodes
    where stopped_at is null and heartbeat_at > now() - make_interval(secs => ${leaseSeconds})
      and report ->> 'secret' is not null and report ->> 'secret' is distinct from ${fingerprint}::text`;
  return count;
}

/** The fingerprint of the secret that was generated for nodes without AUTH_SECRET; null when there is none yet. */
export async function storedFingerprint(sql: SQL): Promise<string | null> {
  const [row] = await sql<{ secret: string }[]>`select secret from gateway_secret`;
  return row === undefined ? null : fingerprintOf(deriveKeys(row.secret));
}
