import { SQL } from 'bun';
import { connectionOptions } from '../database/connection.ts';
import { compareReplica } from '../database/replica.ts';
import { within } from '../lib/within.ts';
import { doctorName } from './connections.ts';
import { type Finding, good, warning } from './finding.ts';

/** Whether DATABASE_READ_URL leads to a replica that the gateway would use. Without one it reads from the primary. */
export async function examineReplica(url: string, primary: SQL, patienceMs: number): Promise<Finding> {
  const replica = new SQL({ ...connectionOptions(url, doctorName), max: 1 });
  try {
    const state = await within(patienceMs, compareReplica(replica, primary));
    if (state === 'close') return good('replica', 'DATABASE_READ_URL keeps up with the primary');
    return state === 'behind'
      ? warning(
          'replica',
          'DATABASE_READ_URL is too far behind: lists and reports come from the primary.',
          'Check pg_stat_replication on the primary.',
        )
      : warning(
          'replica',
          'DATABASE_READ_URL points to a server that accepts writes: lists and reports come from the primary.',
          'Point it to a standby of the primary, or leave it unset.',
        );
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return warning(
      'replica',
      `DATABASE_READ_URL cannot be reached: ${reason}. Lists and reports come from the primary.`,
      'Check DATABASE_READ_URL and that the replica is running.',
    );
  } finally {
    await replica.close({ timeout: 0 });
  }
}
