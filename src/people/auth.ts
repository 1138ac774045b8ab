/**
 * better-auth on the gateway's own table of sessions. None of its routes is reachable: the sign-in endpoints call the
 * functions that they need, and do themselves what has to happen in one transaction or in a queue.
 */
import { type BetterAuthOptions, type BetterAuthPlugin, betterAuth } from 'better-auth';
import { createAuthEndpoint } from 'better-auth/api';
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
import { z } from 'zod';
import { newId } from '../lib/ids.ts';

/** Three steps that better-auth offers only as part of larger ones, some of which hide failures. */
const sessionTokens = {
  id: 'session-token',
  endpoints: {
    /** For a client that has proved to be this user. */
    beginSession: createAuthEndpoint.serverOnly(
      { method: 'POST', body: z.object({ userId: z.string() }) },
      async (context) => {
        const { internalAdapter } = context.context;
        const session = await internalAdapter.createSession(context.body.userId);
        const { name, attributes } = context.context.authCookies.sessionToken;
        const { secret, sessionConfig } = context.context;
        await context.setSignedCookie(name, session.token, secret, {
          ...attributes,
          maxAge: sessionConfig.expiresIn,
        });
        return { sessionId: session.id };
      },
    ),
    /** The token in the cookie, if this gateway signed it. The session may have ended. */
    readSessionToken: createAuthEndpoint.serverOnly({ method: 'POST' }, async (context) => {
      const { secret, authCookies } = context.context;
      const token = await context.getSignedCookie(authCookies.sessionToken.name, secret);
      return { token: token || null };
    }),
    clearSessionCookie: createAuthEndpoint.serverOnly({ method: 'POST' }, async (context) => {
      const { name, attributes } = context.context.authCookies.sessionToken;
      context.setCookie(name, '', { ...attributes, maxAge: 0 });
    }),
  },
} satisfies BetterAuthPlugin;

type AuthSettings = Readonly<{
  secret: string;
  /** The gateway's address as browsers know it; null when it is not configured. */
  publicUrl: string | null;
}>;

/** Sessions are never extended: no cookie has to be renewed, and none lives forever. */
const sessionSeconds = 14 * 24 * 60 * 60;

/** Passes on the client address that the gateway determined. A header of this name from a client never gets here. */
export const addressHeader = 'x-client-address';

export type Auth = ReturnType<typeof createAuth>;

export function createAuth(sql: SQL, settings: AuthSettings) {
  return betterAuth(optionsOf(sql, settings));
}

function optionsOf(sql: SQL, settings: AuthSettings) {
  const isHttps = settings.publicUrl?.startsWith('https:') ?? false;
  return {
    appName: 'Tollgate',
    baseURL: settings.publicUrl ?? 'http://127.0.0.1',
    basePath: '/api/auth',
    secret: settings.secret,
    database: { dialect: bunDialect(sql), type: 'postgres', transaction: true },
    plugins: [sessionTokens],
    session: {
      modelName: 'sessions',
      fields: {
        userId: 'user_id',
        ipAddress: 'ip_address',
        userAgent: 'user_agent',
        expiresAt: 'expires_at',
        createdAt: 'created_at',
        updatedAt: 'updated_at',
      },
      expiresIn: sessionSeconds,
      disableSessionRefresh: true,
    },
    databaseHooks: {
      session: {
        create: {
          // better-auth would shorten an IPv6 address to its network; users look for their own in the list.
          before: async (session, context) => ({
            data: { ...session, ipAddress: context?.headers?.get(addressHeader) ?? null },
          }),
        },
      },
    },
    advanced: {
      // It must not look at the other tables.
      database: { generateId: () => newId(), validateSchema: false },
      ipAddress: { disableIpTracking: true },
      // The origin has been checked before, by the same rule as everywhere else.
      disableOriginCheck: true,
      disableCSRFCheck: true,
      useSecureCookies: false,
      cookies: {
        session_token: {
          name: sessionCookieName(isHttps),
          attributes: { httpOnly: true, sameSite: 'lax', path: '/', secure: isHttps },
        },
      },
    },
    // The gateway has its own limits.
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: { disabled: true },
  } satisfies BetterAuthOptions;
}

/** With this prefix a browser accepts the cookie only over HTTPS and only from this host. */
function sessionCookieName(isHttps: boolean): string {
  return isHttps ? '__Host-tollgate_session' : 'tollgate_session';
}

/** Lets better-auth, which uses Kysely, share the PostgreSQL driver of the gateway. */
function bunDialect(sql: SQL): Dialect {
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
