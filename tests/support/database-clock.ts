/** A clock for a test's database, so that no test depends on where in its minute, day or month it runs. */
import type { SQL } from 'bun';

/** From the next connection on, `clock_timestamp()` is what `setClock` sets. */
export async function makeClockSettable(sql: SQL): Promise<void> {
  await sql`create table clock_shift (shift interval not null)`;
  await sql`insert into clock_shift values ('0')`;
  await sql.unsafe(`
    create function public.clock_timestamp() returns timestamptz language sql volatile as
    'select pg_catalog.clock_timestamp() + shift from public.clock_shift'`);
  const [{ name }] = await sql`select current_database() as name`;
  await sql.unsafe(`alter database "${name}" set search_path = public, pg_catalog`);
}

/** It goes on from there; null for the real time. */
export async function setClock(sql: SQL, time: string | null): Promise<void> {
  await sql`
    update clock_shift set shift = coalesce(${time}::timestamptz - pg_catalog.clock_timestamp(), '0'::interval)`;
}

/** To the fifth second of the nearest minute: at most half a minute away, so that no gateway finds its own clock wrong. */
export async function setClockToMinuteStart(sql: SQL): Promise<void> {
  await sql`
    update clock_shift
    set shift = date_trunc('minute', pg_catalog.clock_timestamp() + interval '25 seconds') + interval '5 seconds'
      - pg_catalog.clock_timestamp()`;
}
