/**
 * Builds an index without blocking writes. PostgreSQL cannot do that for a partitioned table as a whole: the index is
 * declared on the table alone, built for each partition, and valid once each has been attached. Partitions that are
 * created meanwhile get theirs from the declaration.
 *
 * Every step can be repeated. An index that was left invalid by an interruption is built again.
 */
import type { ReservedSQL } from 'bun';

export type IndexStatement = Readonly<{ unique: string; name: string; table: string; rest: string }>;

/** Null for anything but `create [unique] index concurrently NAME on TABLE …`. */
export function parseIndexStatement(statement: string): IndexStatement | null {
  const match =
    /^create\s+(unique\s+)?index\s+concurrently\s+([a-z_0-9]+)\s+on\s+([a-z_0-9]+)\s*(\(.*\).*)$/is.exec(
      statement,
    );
  if (match === null) return null;
  const [, unique = '', name = '', table = '', rest = ''] = match;
  return { unique, name, table, rest };
}

/** Quicker on a database that nobody uses yet. */
export function withoutConcurrency({ unique, name, table, rest }: IndexStatement): string {
  return `create ${unique}index ${name} on ${table} ${rest}`;
}

type Found = Readonly<{ is_valid: boolean }>;
type Partition = Readonly<{ name: string; is_attached: boolean }>;

export async function buildIndex(connection: ReservedSQL, index: IndexStatement): Promise<void> {
  const { unique, name, table, rest } = index;
  const [parent] = await connection<{ is_partitioned: boolean }[]>`
    select relkind = 'p' as is_partitioned from pg_class where oid = to_regclass(${table})`;
  if (parent?.is_partitioned !== true) return await buildOne(connection, index);
  const found = await findIndex(connection, name);
  if (found?.is_valid === true) return;
  if (found === null) await connection.unsafe(`create ${unique}index ${name} on only ${table} ${rest}`);
  const partitions = await connection<Partition[]>`
    select child.relname as name,
           exists (select 1 from pg_index join pg_inherits as attached on attached.inhrelid = pg_index.indexrelid
                   where indrelid = child.oid and attached.inhparent = to_regclass(${name})) as is_attached
    from pg_inherits join pg_class as child on child.oid = inhrelid
    where inhparent = to_regclass(${table}) order by child.relname`;
  for (const partition of partitions) {
    if (partition.is_attached) continue;
    const own = { ...index, name: nameFor(name, partition.name), table: partition.name };
    await buildOne(connection, own);
    await connection.unsafe(`alter index ${name} attach partition ${own.name}`);
  }
}

async function buildOne(connection: ReservedSQL, { unique, name, table, rest }: IndexStatement) {
  const found = await findIndex(connection, name);
  if (found?.is_valid === true) return;
  if (found !== null) await connection.unsafe(`drop index concurrently ${name}`);
  await connection.unsafe(`create ${unique}index concurrently ${name} on ${table} ${rest}`);
}

async function findIndex(connection: ReservedSQL, name: string): Promise<Found | null> {
  const [found] = await connection<Found[]>`
    select indisvalid as is_valid from pg_index where indexrelid = to_regclass(${name})`;
  return found ?? null;
}

const maxNameLength = 63;

/** Unique for each partition and index, within what PostgreSQL allows for a name. */
function nameFor(index: string, partition: string): string {
  const suffix = Bun.hash(`${index} ${partition}`).toString(36).slice(0, 8);
  return `${`${partition}_${index}`.slice(0, maxNameLength - suffix.length - 1)}_${suffix}`;
}
