import type { TransactionSQL } from 'bun';
import { ApiError } from '../../errors.ts';

/** Holds the right to act as an operator until the transaction ends: who is no operator any more does nothing. */
export async function requireOperator(transaction: TransactionSQL, userId: string): Promise<void> {
  const found = await transaction`select 1 from users where id = ${userId} and is_operator for share`;
  if (found.length === 0) throw new ApiError('permission_denied');
}
