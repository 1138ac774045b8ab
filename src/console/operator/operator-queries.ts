/**
 * Who may act as an operator is asked in each statement: what it finds hangs on a row of `users`, and without that row it
 * does nothing.
 */
import type { TransactionSQL } from 'bun';
import { ApiError } from '../../errors.ts';

/** Holds the right to act as an operator until the transaction ends: who is no operator any more does nothing. */
export async function requireOperator(transaction: TransactionSQL, userId: string): Promise<void> {
  refuseNobody(await transaction`select 1 from users where id = ${userId} and is_operator for share`);
}

/** An operator who finds nothing is one row all the same, without the column that all others have. */
export type Found<Row, Column extends keyof Row> = Row | Readonly<Record<Column, null>>;

export function rowsFound<Row, Column extends keyof Row>(
  rows: readonly Found<Row, Column>[],
  column: Column,
): Row[] {
  refuseNobody(rows);
  return rows.filter((row): row is Row => row[column] !== null);
}

/** No row at all means that no operator asked. */
export function refuseNobody(rows: readonly unknown[]): void {
  if (rows.length === 0) throw new ApiError('permission_denied');
}
