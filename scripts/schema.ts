/**
 * npm run schema
 *
 * Writes migrations/schema.sql: what all migrations together make, to be read. From the catalogs, because the embedded server
 * comes without pg_dump.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQL } from 'bun';
import { createDatabase, stopCluster } from '../tests/support/cluster.ts';

type Item = Readonly<{ comment: string | null; statements: string[] }>;

export const schemaFile = join(import.meta.dir, '../migrations/schema.sql');
const maxWidth = 120;
const header = `-- Made by npm run schema from all migrations, to be read: nothing applies it.
--
-- First the tables, each with its indexes and triggers, then views, types and functions, all by name. The partitions of the
-- months are left out: create_partitions makes them.
`;

if (import.meta.main) {
  try {
    const database = await createDatabase();
    writeFileSync(schemaFile, await describeSchema(database.sql));
    await database.close();
  } finally {
    await stopCluster();
  }
}

/** As statements, in the spelling of PostgreSQL 18. */
export async function describeSchema(sql: SQL): Promise<string> {
  const kinds = await Promise.all([readTables, readViews, readTypes, readFunctions].map((read) => read(sql)));
  return [header, ...kinds.flat().map(present)].join('\n');
}

/** A default partition is described by what it does not share with its table. */
function readTables(sql: SQL): Promise<Item[]> {
  return sql<Item[]>`
    select obj_description(pg_class.oid, 'pg_class') as comment,
           concat_ws(' ', 'CREATE TABLE', relname, 'PARTITION OF ' || inhparent::regclass,
             '(' || nullif(concat_ws(',', columns, constraints), '') || E'\n)', case when relispartition then 'DEFAULT' end,
             'PARTITION BY ' || pg_get_partkeydef(pg_class.oid), 'WITH (' || array_to_string(reloptions, ', ') || ')')
           || indexes || triggers as statements
    from pg_class left join pg_inherits on inhrelid = pg_class.oid
    cross join lateral (
      select string_agg(concat(E'\n  -- ' || col_description(attrelid, attnum), E'\n  ', definition), ',' order by attnum)
             as columns
      from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
      cross join pg_get_expr(adbin, adrelid) as value
      cross join concat_ws(' ', quote_ident(attname), format_type(atttypid, atttypmod),
        case attstorage when 'e' then 'STORAGE EXTERNAL' end,
        case when attnotnull then 'NOT NULL' end,
        case attgenerated when '' then 'DEFAULT ' || value when 's' then 'GENERATED ALWAYS AS (' || value || ') STORED' end,
        case when attidentity <> '' then 'GENERATED ALWAYS AS IDENTITY' end) as definition
      where attrelid = pg_class.oid and attnum > 0 and not attisdropped and not relispartition
    ) as of_columns
    cross join lateral (
      select string_agg(concat_ws(' ', E'\n  CONSTRAINT', quote_ident(conname),
               replace(pg_get_constraintdef(oid, true), E'\n', E'\n    ')), ',' order by contype <> 'p', conname) as constraints
      from pg_constraint where conrelid = pg_class.oid and contype <> 'n' and coninhcount = 0
    ) as of_constraints
    cross join lateral (select array(
      select replace(pg_get_indexdef(indexrelid, 0, true), ' ON ONLY ', ' ON ') from pg_index
      where indrelid = pg_class.oid
        and not exists (select 1 from pg_inherits as inherited where inherited.inhrelid = indexrelid)
        and not exists (select 1 from pg_constraint where conindid = indexrelid and conrelid = indrelid)
      order by 1) as indexes) as of_indexes
    cross join lateral (select array(
      select regexp_replace(pg_get_triggerdef(oid, true), ' (?=FOR EACH|EXECUTE)', E'\\n  ', 'g') from pg_trigger
      where tgrelid = pg_class.oid and not tgisinternal and tgparentid = 0 order by tgname) as triggers) as of_triggers
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
      and (not relispartition or pg_get_expr(relpartbound, pg_class.oid) = 'DEFAULT')
    order by relname`;
}

function readViews(sql: SQL): Promise<Item[]> {
  return sql<Item[]>`
    select obj_description(oid, 'pg_class') as comment,
           array[concat('CREATE VIEW ', relname, E' AS\n', rtrim(pg_get_viewdef(oid, true), ';'))] as statements
    from pg_class where relnamespace = 'public'::regnamespace and relkind = 'v' order by relname`;
}

function readTypes(sql: SQL): Promise<Item[]> {
  return sql<Item[]>`
    select obj_description(reltype, 'pg_type') as comment,
           array[concat('CREATE TYPE ', relname, ' AS (',
             string_agg(concat(E'\n  ', quote_ident(attname), ' ', format_type(atttypid, atttypmod)), ',' order by attnum),
             E'\n)')] as statements
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relnamespace = 'public'::regnamespace and relkind = 'c' and not attisdropped
    group by pg_class.oid order by relname`;
}

function readFunctions(sql: SQL): Promise<Item[]> {
  return sql<Item[]>`
    select obj_description(oid, 'pg_proc') as comment,
           array[replace(trim(E'\n' from pg_get_functiondef(oid)), 'OR REPLACE FUNCTION public.', 'FUNCTION ')] as statements
    from pg_proc where pronamespace = 'public'::regnamespace order by proname, pronargs`;
}

function present({ comment, statements }: Item): string {
  const lines = comment === null ? [] : wrap(`-- ${comment}`, '-- ');
  return [...lines, ...statements.map((statement) => `${presentStatement(statement)};`), ''].join('\n');
}

/** The bodies of functions stay as they were written. */
function presentStatement(statement: string): string {
  const [declaration = '', body] = statement.split('$function$');
  const lines = declaration.split('\n').flatMap((line) => wrap(line, /^ *-- /.exec(line)?.[0] ?? '    '));
  return body === undefined ? lines.join('\n') : `${lines.join('\n')}$$${body}$$`;
}

/** At a space; in code after a comma, if there is one, so that a parameter keeps its type. */
function wrap(line: string, indent: string): string[] {
  if (line.length <= maxWidth) return [line];
  const comma = indent.endsWith('-- ') ? 0 : line.lastIndexOf(', ', maxWidth - 1) + 1;
  const end = comma > maxWidth / 2 ? comma : line.lastIndexOf(' ', maxWidth);
  if (end <= indent.length) return [line];
  return [line.slice(0, end), ...wrap(`${indent}${line.slice(end + 1)}`, indent)];
}
