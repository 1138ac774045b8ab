/** An invariant is a query, and depends on what the audit covers. */

/** What an audit covers. The IDs are UUIDs, and the month is a date. */
export type AuditScope = Readonly<{
  isFull: boolean;
  /** Generations, usage records and write-offs with this ID or a later one are new. */
  sinceId: string;
  /** Months before this day are archived. */
  archivedBefore: string | null;
  /** Generations with an ID before this one may have been charged in a month that is archived. */
  archivedBeforeId: string;
}>;

export type Invariant = Readonly<{ invariant: string; query: (scope: AuditScope) => string }>;

/** Whether the charge of a Generation may be in an archive. */
export const maybeArchived = (id: string, { archivedBeforeId }: AuditScope) =>
  `${id} < '${archivedBeforeId}'`;
