/** One audit, archive or repair at a time in a deployment. */
import type { ReservedSQL, SQL } from 'bun';
import { OperatorError } from '../lib/operator-error.ts';

export const auditLock = 7_012_018_007;

/** Runs something on a dedicated connection while no audit can run. Throws when one is running. */
export async function withoutAudits<Result>(
  openDedicated: () => SQL,
  run: (connection: ReservedSQL) => Promise<Result>,
): Promise<Result> {
  const dedicated = openDedicated();
  const connection = await dedicated.reserve();
  try {
    const [{ is_mine: isMine }] = await connection<[{ is_mine: boolean }]>`
      select pg_try_advisory_lock(${auditLock}) as is_mine`;
    if (!isMine) throw new OperatorError('An audit is running: try again when it has finished.');
    return await run(connection);
  } finally {
    // The session, and with it the lock, may outlive its connection for a moment, in which the next command would be refused.
    await connection`select pg_advisory_unlock_all()`.catch(() => undefined);
    // Closing would wait for a connection that is still reserved.
    await connection.release();
    await dedicated.close({ timeout: 1 });
  }
}
