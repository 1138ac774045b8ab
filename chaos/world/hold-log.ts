/**
 * PostgreSQL's own word on holds: a trigger notes each one in its own transaction, so a crash loses both or neither, and the
 * server knows when that transaction was committed. No gateway has a say in it. It was decided between `begun_at` and
 * `noted_at`, which tells in which minute it counted.
 */
import type { SQL } from 'bun';
import { requestIdFromUuid } from '../../src/lib/ids.ts';

export async function logHolds(sql: SQL): Promise<void> {
  await sql.unsafe(`
    create schema chaos;
    create table chaos.holds (
      generation_id uuid not null,
      begun_at timestamptz not null default now(),
      noted_at timestamptz not null default clock_timestamp());
    create function chaos.log_holds() returns trigger language plpgsql as $$
    begin
      insert into chaos.holds (generation_id) select id from opened;
      return null;
    end $$;
    create trigger log_holds after insert on open_generations
      referencing new table as opened for each statement execute function chaos.log_holds()`);
}

/** When each hold was first committed, by request ID, in milliseconds with fractions. */
export async function readHolds(sql: SQL): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ id: string; at_ms: number | null }[]>`
    select generation_id as id, min(extract(epoch from pg_xact_commit_timestamp(xmin)) * 1000)::float8 as at_ms
    from chaos.holds group by generation_id`;
  return new Map(
    rows.map(({ id, at_ms: atMs }) => {
      if (atMs === null) throw new Error(`PostgreSQL does not know when the hold of ${id} was committed.`);
      return [requestIdFromUuid(id), atMs];
    }),
  );
}
