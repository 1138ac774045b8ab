/** What the dashboard reads keeps no connection for longer than anyone waits. */
import { expect, test } from 'bun:test';
import type { SQL } from 'bun';
import { boundedRead } from '../../src/console/bounded-read.ts';
import { inSnapshot } from '../../src/console/figures-snapshot.ts';
import { createDatabase } from '../support/cluster.ts';

test('a statement is ended, and neither the bound nor the memory stays with its connection', async () => {
  const { sql, close } = await createDatabase();
  const settings = async (reading: SQL) => {
    const [row] = await reading`
      select current_setting('statement_timeout') as timeout, current_setting('work_mem') as memory,
             current_setting('transaction_isolation') as isolation`;
    return { ...row };
  };
  const connection = await sql.reserve();
  await connection`set work_mem = '1MB'`;
  const before = await settings(connection);
  expect(await boundedRead(connection, settings)).toMatchObject({
    timeout: '3500ms',
    memory: '1MB',
    isolation: 'read committed',
  });
  expect(await inSnapshot(connection, null, settings)).toMatchObject({
    timeout: '3500ms',
    memory: '32MB',
    isolation: 'repeatable read',
  });
  await connection`set work_mem = '64MB'`;
  expect(await inSnapshot(connection, null, settings)).toMatchObject({ memory: '64MB' });
  expect(await settings(connection)).toEqual({ ...before, memory: '64MB' });
  await connection.release();
  await close();
});

test('no plan is made for any values', async () => {
  const { sql, close } = await createDatabase();
  const connection = await sql.reserve();
  const plansFor = async (read: <Result>(run: (reading: SQL) => Promise<Result>) => Promise<Result>) => {
    for (let count = 0; count < 10; count += 1)
      await read((reading) => reading`select from accounts where entry_count > ${count}`);
    const [row] = await connection<[{ generic: number }]>`
      select sum(generic_plans)::int as generic from pg_prepared_statements where statement like 'select from accounts%'`;
    return row.generic;
  };
  expect(await plansFor((run) => boundedRead(connection, run))).toBe(0);
  expect(await plansFor((run) => run(connection))).toBeGreaterThan(0);
  await connection.release();
  await close();
});
