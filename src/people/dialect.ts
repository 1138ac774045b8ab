/** Lets better-auth, which uses Kysely, share the PostgreSQL driver of the gateway. */
import type { ReservedSQL, SQL } from 'bun';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';

export function bunDialect(sql: SQL): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (database) => new PostgresIntrospector(database),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createDriver: () => ({
      init: async () => undefined,
      acquireConnection: async () => new BunConnection(await sql.reserve()),
      beginTransaction: (connection) => run(connection, 'begin'),
      commitTransaction: (connection) => run(connection, 'commit'),
      rollbackTransaction: (connection) => run(connection, 'rollback'),
      releaseConnection: async (connection) => {
        if (connection instanceof BunConnection) await connection.release();
      },
      // The pool belongs to the gateway.
      destroy: async () => undefined,
    }),
  };
}

async function run(connection: DatabaseConnection, statement: string): Promise<void> {
  await connection.executeQuery(CompiledQuery.raw(statement));
}

class BunConnection implements DatabaseConnection {
  readonly #reserved: ReservedSQL;

  constructor(reserved: ReservedSQL) {
    this.#reserved = reserved;
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const rows = await this.#reserved.unsafe<Row[] & { count: number }>(sql, [...parameters]);
    return { rows: [...rows], numAffectedRows: BigInt(rows.count ?? 0) };
  }

  // biome-ignore lint/correctness/useYield: results are not streamed.
  async *streamQuery(): AsyncIterableIterator<never> {
    throw new Error('Results are not streamed.');
  }

  async release(): Promise<void> {
    await this.#reserved.release();
  }
}
