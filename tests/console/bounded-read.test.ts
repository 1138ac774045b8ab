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
    timeout: '5s',
    memory: '1MB',
    isolation: 'repeatable read',
  });
  expect(await inSnapshot(connection, null, settings)).toMatchObject({ timeout: '5s', memory: '32MB' });
  await connection`set work_mem = '64MB'`;
  expect(await inSnapshot(connection, null, settings)).toMatchObject({ memory: '64MB' });
  expect(await settings(connection)).toEqual({ ...before, memory: '64MB' });
  await connection.release();
  await close();
});
