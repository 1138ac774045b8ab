import { openExistingDatabase } from '../database/connection.ts';
import { explainDatabaseError } from '../database/explain.ts';
import { migrate } from '../database/migrate.ts';
import type { LocalCommand } from './command.ts';

export const migrateCommand: LocalCommand = {
  name: 'migrate',
  summary:
    'Bring the database schema up to date. Refuses while gateways are running that the new schema would break, unless given --force.',
  options: [{ name: 'force', value: null }],
  runLocally: async (config, words) => {
    const database = await openExistingDatabase(config);
    const connection = database.openDedicated();
    try {
      const applied = await migrate(connection, { isForced: words.flag('force') });
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
