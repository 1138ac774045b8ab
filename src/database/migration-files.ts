/**
 * The numbered SQL files in migrations/ and their header lines:
 *
 *   -- compatible-with: 0011    Gateways whose newest migration is 0011 or later keep working once this one is applied.
 *   -- no transaction           Its statements run one by one, outside a transaction, and can each be repeated.
 *
 * Without the first, no older gateway keeps working. Without the second, the file is applied in one transaction.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../lib/operator-error.ts';
import { isMigration } from '../lib/software-version.ts';

export type Migration = Readonly<{
  version: number;
  name: string;
  statements: string;
  digest: string;
  /** The newest migration of the oldest gateways that keep working. */
  compatibleWith: number;
  isTransactional: boolean;
}>;

export function readMigrations(folder: string): Migration[] {
  const names = readdirSync(folder).filter(isMigration).sort();
  return names.map((name) => parseMigration(name, readFileSync(join(folder, name), 'utf8')));
}

export function parseMigration(name: string, statements: string): Migration {
  const version = Number.parseInt(name, 10);
  const header = /^(?:--.*\n)*/.exec(statements)?.[0] ?? '';
  const compatible = /^-- compatible-with: (\d{4})$/m.exec(header)?.[1];
  return {
    version,
    name,
    statements,
    digest: new Bun.CryptoHasher('sha256').update(statements).digest('hex'),
    compatibleWith: compatible === undefined ? version : Number.parseInt(compatible, 10),
    isTransactional: !/^-- no transaction$/m.test(header),
  };
}

/** Statements end with a semicolon at the end of a line, outside of function bodies between `$$`. */
export function statementsOf({ statements }: Migration): string[] {
  const code = statements.replace(/^\s*--.*$/gm, '');
  const parts = code.match(/(?:\$\$.*?\$\$|;(?!\s*(?:\n|$))|[^;])+/gs) ?? [];
  return parts.flatMap((statement) => statement.trim() || []);
}

export type AppliedMigration = Readonly<{ version: number; digest: string; compatible_with: number | null }>;

/** How a database's schema compares with the one this code was written for. */
export type SchemaState = 'ok' | 'older' | 'newer' | 'different';
export type SchemaJudgement = Readonly<{ state: SchemaState; problem: string | null; pending: Migration[] }>;

/** A newer schema is all right as long as every migration that this code does not know is compatible with it. */
export function judgeSchema(
  known: readonly Migration[],
  applied: readonly AppliedMigration[],
): SchemaJudgement {
  const newest = known.at(-1)?.version ?? 0;
  const done = new Map(applied.map((migration) => [migration.version, migration]));
  const changed = known.find(({ version, digest }) => (done.get(version)?.digest ?? digest) !== digest);
  if (changed !== undefined)
    return judgement(
      'different',
      `Migration ${changed.name} differs from the one this database was made with. Restore the file; changes belong in a new migration.`,
    );
  const versions = new Set(known.map(({ version }) => version));
  const broken = applied.find(
    ({ version, compatible_with }) => !versions.has(version) && (compatible_with ?? version) > newest,
  );
  if (broken !== undefined)
    return judgement(
      'newer',
      `The database is newer than this version of Tollgate: it has migration ${broken.version}, this code knows up to ${newest}. Start a newer version.`,
    );
  const pending = known.filter(({ version }) => !done.has(version));
  if (pending.length === 0) return { state: 'ok', problem: null, pending };
  const problem =
    applied.length === 0 ? 'The database is empty. Run: tollgate migrate' : pendingProblem(pending);
  return { state: 'older', problem, pending };
}

function judgement(state: SchemaState, problem: string): SchemaJudgement {
  return { state, problem, pending: [] };
}

function pendingProblem(pending: readonly Migration[]): string {
  const names = pending.map(({ name }) => name).join(', ');
  return `The database is older than this version of Tollgate: ${names} is still to be applied. Run: tollgate migrate`;
}

/** The migrations to apply. Throws when the database was migrated by an incompatible version or with other files. */
export function requirePending({ state, problem, pending }: SchemaJudgement): Migration[] {
  if (problem !== null && state !== 'older') throw new OperatorError(problem);
  return pending;
}
