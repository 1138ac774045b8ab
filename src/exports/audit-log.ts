/** Who changed what. Owners see of the changes to their account what the dashboard shows them. */
import { isOwnColumn, type OwnedChange, presentForOwners } from '../audit-log/for-owners.ts';
import { changesAfterQuery } from '../audit-log/read.ts';
import { isUuid } from '../lib/ids.ts';
import { type Column, id, nested, plain, text } from './columns.ts';
import { idsOf, isIdWithin, pageOfIds } from './id-range.ts';
import type { ExportSource } from './source.ts';

type ChangeRow = OwnedChange;

const identity = [
  plain<ChangeRow>('id', (row) => row.id),
  plain<ChangeRow>('created_at', (row) => row.at),
  plain<ChangeRow>('action', (row) => row.action),
] as const;

const object: readonly Column<ChangeRow>[] = [
  plain('object_type', (row) => row.object?.type),
  text('object_id', (row) => row.object?.id ?? null),
  text('object_name', (row) => row.object?.name ?? null),
];

const forOperators = [
  ...identity,
  plain<ChangeRow>('door', (row) => row.door),
  plain<ChangeRow>('actor_type', (row) => row.actor.type),
  id<ChangeRow>('actor_id', (row) => row.actor.id),
  text<ChangeRow>('actor_name', (row) => row.actor.name),
  text<ChangeRow>('address', (row) => row.address),
  id<ChangeRow>('account_id', (row) => row.account?.id ?? null),
  text<ChangeRow>('account_name', (row) => row.account?.name ?? null),
  ...object,
  nested<ChangeRow>('before', (row) => row.before),
  nested<ChangeRow>('after', (row) => row.after),
] as const;

const forOwners = [
  ...identity,
  text<ChangeRow>('actor_name', (row) => presentForOwners(row).actor),
  text<ChangeRow>('address', (row) => presentForOwners(row).address),
  ...object,
  nested<ChangeRow>('before', (row) => presentForOwners(row).before),
  nested<ChangeRow>('after', (row) => presentForOwners(row).after),
] as const;

export const auditLogExport: ExportSource<ChangeRow> = {
  columns: (isOperator) => (isOperator ? forOperators : forOwners),
  isCursor: (given, order) => isUuid(given) && isIdWithin(given.toLowerCase(), order),
  find: async (sql, order, after, rowCount) => {
    const { accountId, isOperator } = order;
    const { first, end } = idsOf(order);
    const start = after === null ? { from: first } : { after };
    // Operators see every actor.
    const isOwn = isOperator || accountId === null ? sql`false as is_own` : isOwnColumn(sql, accountId);
    const rows = await sql<ChangeRow[]>`
      select change.*, ${isOwn}
      from (${changesAfterQuery(sql, { accountId }, start, end, rowCount)}) as change
      order by change.id`;
    return pageOfIds(rows, rowCount, ({ id: last }) => last);
  },
  // It is never dropped.
  requireStored: () => Promise.resolve(),
};
