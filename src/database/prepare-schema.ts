import type { Log } from '../lib/log.ts';
import type { Database } from './connection.ts';
import { migrate, requireMigrated } from './migrate.ts';

/**
 * Brings the schema up to date, or throws unless this code can work with the schema as it is. An operator who migrates in
 * a separate step does not want a gateway to do it on its own.
 */
export async function prepareSchema(database: Database, mayMigrate: boolean, log: Log): Promise<void> {
  if (!mayMigrate) {
    await requireMigrated(database.sql);
    return;
  }
  const connection = database.openDedicated();
  try {
    const applied = await migrate(connection);
    if (applied.length > 0) log.info('database migrated', { count: applied.length });
  } finally {
    await connection.close({ timeout: 1 });
  }
}
