import { openDatabase } from '../database/connection.ts';
import { explainDatabaseError } from '../database/explain.ts';
import { migrate } from '../database/migrate.ts';
import type { LocalCommand } from './command.ts';

export const migrateCommand: LocalCommand = {
  name: 'migrate',
  summary: 'Bring the schema of the database up to date. Does nothing when it is.',
  runLocally: async (config) => {
    const database = await openDatabase(config);
    const connection = database.openDedicated();
    try {
      const applied = await migrate(connection);
      const text = applied.length === 0 ? 'The schema is up to date.' : `Applied:\n  ${applied.join('\n  ')}`;
      return { json: { applied }, text };
    } catch (error) {
      throw explainDatabaseError(error, config);
    } finally {
      await connection.close({ timeout: 1 });
      await database.close();
    }
  },
};
