/** The requests of any account for an end user, or with a tag or session, for operators who are asked about them. */
import { keepPreviousData } from '@tanstack/react-query';
import { Download, UserSearch } from 'lucide-react';
import type { Page as PageOf } from '../../../../src/console/contract.ts';
import type { OperatorGenerationRow } from '../../../../src/console/operator-contract.ts';
import { useReplaceSearch, useSearchParameters } from '../../../address.ts';
import { addressOf } from '../../../api/client.ts';
import { AnchorButton } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { Page } from '../../../kit/page.tsx';
import { QueryTable, useAddressCursors } from '../../../kit/query-table.tsx';
import { EmptyState } from '../../../kit/states.tsx';
import type { Column } from '../../../kit/table.tsx';
import { AttributionFields, attributionColumn } from '../../generations/attribution.tsx';
import {
  type AttributionFilter,
  attributionIn,
  isFiltered,
  queryOf,
  searchOf,
} from '../../generations/filter.ts';
import { columns, NoMatches } from '../../generations/generations-page.tsx';
import { operatorPath, useOperatorQuery } from '../operator-query.ts';

export function OperatorGenerationsPage() {
  const filter = attributionIn(useSearchParameters());
  const replace = useReplaceSearch();
  const wanted = queryOf(filter);
  const change = (changed: Partial<AttributionFilter>) => replace(() => searchOf({ ...filter, ...changed }));
  return (
    <Page
      title="End users"
      description="Requests of all accounts, found by whom they were for."
      actions={
        isFiltered(wanted) && (
          <AnchorButton href={addressOf(operatorPath('generations.csv'), wanted)} download icon={Download}>
            CSV of 30 days
          </AnchorButton>
        )
      }
    >
      <Card isFlush>
        <div className="flex flex-wrap items-start gap-3 border-b border-line py-3">
          <AttributionFields
            filter={filter}
            onChange={change}
            onClear={isFiltered(filter) ? () => replace(() => ({})) : null}
          />
        </div>
        {isFiltered(wanted) ? <Found filter={wanted} /> : <Nobody />}
      </Card>
    </Page>
  );
}

function Nobody() {
  return (
    <EmptyState icon={UserSearch} title="Whom are you looking for?">
      Enter an end user, tag or session as the customer calls it. Customers name them with each request.
    </EmptyState>
  );
}

function Found({ filter }: Readonly<{ filter: AttributionFilter }>) {
  const cursors = useAddressCursors();
  const generations = useOperatorQuery<PageOf<OperatorGenerationRow>>(['generations'], {
    query: { ...filter, cursor: cursors.cursor },
    placeholderData: keepPreviousData,
  });
  return (
    <QueryTable
      query={generations}
      caption="Generations"
      columns={operatorColumns}
      rows={generations.data?.data}
      rowKey={({ id }) => id}
      rowLink={({ id }) => ({ to: '/operator/generations/$id', params: { id } })}
      expectedRows={6}
      empty={<NoMatches hasMore={generations.data?.has_more === true} />}
      cursors={cursors}
      nextCursor={generations.data?.next_cursor}
    />
  );
}

const accountColumn: Column<OperatorGenerationRow> = {
  key: 'account',
  header: 'Account',
  cell: ({ account }) => account.name,
};

/** In place of the key, which says nothing to an operator. */
const operatorColumns: readonly Column<OperatorGenerationRow>[] = columns.flatMap((column) =>
  column.key === 'key' ? [accountColumn, attributionColumn] : [column],
);
