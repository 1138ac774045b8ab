/** What can be exported, and by whom. */
import type { SQL } from 'bun';
import type { Column } from './columns.ts';

export const exportNames = ['generations', 'usage', 'entries', 'audit_log'] as const;
export type ExportName = (typeof exportNames)[number];

/** What is exported. Who may read it is checked before each page (exports.ts). */
export type ExportOrder = Readonly<{
  /** Some columns are not for customers. */
  isOperator: boolean;
  /** Null for all accounts. */
  accountId: string | null;
  from: Date;
  /** Not included. */
  to: Date;
}>;

/** `next` is the cursor after which the next page begins; null after the last. A page may have no rows and still a next one. */
export type ExportPage<Row> = Readonly<{ rows: readonly Row[]; next: string | null }>;

/**
 * Rows in an order that never changes: each has its place by values that are written once. The first column is the
 * cursor of its row, and has no comma and no quote in it.
 */
export type ExportSource<Row> = Readonly<{
  columns: (isOperator: boolean) => readonly [cursor: Column<Row>, ...Column<Row>[]];
  /** Whether a text has the form of a cursor and can be one of this export. */
  isCursor: (text: string, order: ExportOrder) => boolean;
  find: (sql: SQL, order: ExportOrder, after: string | null, rowCount: number) => Promise<ExportPage<Row>>;
  /** Throws when a part of the range is no longer in the database. */
  requireStored: (sql: SQL, order: ExportOrder) => Promise<void>;
}>;
