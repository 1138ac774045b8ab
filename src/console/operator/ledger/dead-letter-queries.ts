import type { SQL } from 'bun';
import { type DeadLetter, findDeadLetters } from '../../../ledger/dead-letters.ts';
import { requireOperator } from '../operator-queries.ts';

export type ListedLetter = DeadLetter & Readonly<{ accountName: string }>;

/** The oldest first, and how many there are. */
export async function findDeadLettersAs(
  sql: SQL,
  operatorId: string,
  most: number,
): Promise<Readonly<{ letters: readonly ListedLetter[]; total: number }>> {
  return await sql.begin('isolation level repeatable read', async (transaction) => {
    await requireOperator(transaction, operatorId);
    const letters = await findDeadLetters(transaction, most);
    const accountIds = transaction.array(
      letters.map(({ accountId }) => accountId),
      'uuid',
    );
    const accounts = await transaction<{ id: string; name: string }[]>`
      select id, name from accounts where id = any (${accountIds})`;
    const names = new Map(accounts.map(({ id, name }) => [id, name]));
    const [{ total }] = await transaction<
      [{ total: number }]
    >`select count(*)::int as total from dead_letters`;
    return {
      letters: letters.map((letter) => ({ ...letter, accountName: names.get(letter.accountId) ?? '' })),
      total,
    };
  });
}
