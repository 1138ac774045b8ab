/** How many figures are read at once. */
import { expect, test } from 'bun:test';
import type { SQL } from 'bun';
import { inSnapshot, maxSnapshots, maxWaitingPerAccount } from '../../src/console/figures-snapshot.ts';
import { eventually } from '../support/eventually.ts';

/** A pool whose transactions answer nothing. */
function emptyPool(): SQL {
  const transaction = async () => [];
  const begin = async (_: string, run: (inside: typeof transaction) => Promise<unknown>) =>
    await run(transaction);
  return { begin } as unknown as SQL;
}

test('few are read at once, some wait, and the rest are told to come back', async () => {
  const sql = emptyPool();
  const { promise: end, resolve: endAll } = Promise.withResolvers<void>();
  let running = 0;
  let most = 0;
  const read = (account: string) =>
    inSnapshot(sql, account, async () => {
      running += 1;
      most = Math.max(most, running);
      await end;
      running -= 1;
    });
  const busy = Array.from({ length: maxSnapshots - 1 + maxWaitingPerAccount }, () => read('busy'));
  expect(await read('busy').catch((error: unknown) => error)).toMatchObject({ code: 'server_overloaded' });
  const other = read('other');
  await eventually('the other account', async () => running === maxSnapshots);
  endAll();
  await Promise.all([...busy, other]);
  expect(most).toBe(maxSnapshots);
});

test('an error of the database is not mistaken for too much work', async () => {
  const failed = inSnapshot(emptyPool(), null, () => Promise.reject(new Error('broken')));
  expect(await failed.catch((error: unknown) => error)).toMatchObject({ message: 'broken' });
});
