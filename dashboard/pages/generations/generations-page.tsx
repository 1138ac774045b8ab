import { useSearch } from '@tanstack/react-router';
import { ArrowUp, ListTree } from 'lucide-react';
import { useAccount } from '../../api/session.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { EmptyState } from '../../kit/empty-state.tsx';
import { FailedList } from '../../kit/failed-list.tsx';
import { Page } from '../../kit/page.tsx';
import { Pager } from '../../kit/pager.tsx';
import { Table } from '../../kit/table.tsx';
import { useAddressCursors } from '../../kit/use-address-cursors.ts';
import { useHasKey } from '../overview/queries.ts';
import { columns } from './columns.tsx';
import { filterIn, isFiltered } from './filter.ts';
import { Filters } from './filters.tsx';
import { FindById } from './find-by-id.tsx';
import { useGenerations } from './queries.ts';
import { useHeldRows } from './use-held-rows.ts';

export function GenerationsPage() {
  const filter = filterIn(useSearch({ strict: false }));
  const cursors = useAddressCursors();
  const generations = useGenerations(filter, cursors.cursor);
  const fetched = generations.data?.data;
  const { rows, newCount } = useHeldRows(fetched, JSON.stringify([filter, cursors.cursor]));
  return (
    <Page
      title="Generations"
      description="Every request to a model, the newest first."
      actions={<FindById />}
    >
      <Card isFlush>
        <Filters filter={filter} rows={fetched} />
        {fetched === undefined && generations.isError ? (
          <FailedList error={generations.error} onRetry={generations.refetch} goToStart={cursors.goToStart} />
        ) : (
          <>
            <Table
              caption="Generations"
              columns={columns}
              rows={rows}
              rowKey={({ id }) => id}
              rowLink={({ id }) => ({ to: '/generations/$id', params: { id } })}
              expectedRows={12}
              isDimmed={generations.isPlaceholderData}
              empty={isFiltered(filter) ? <NothingFits /> : <NothingYet />}
            />
            <Pager
              cursors={cursors}
              nextCursor={generations.data?.next_cursor}
              isBusy={generations.isPlaceholderData}
              label="Generations"
            />
          </>
        )}
      </Card>
      <NewRows count={newCount} />
    </Page>
  );
}

/** Fixed to the window, so that it moves nothing. */
function NewRows({ count }: Readonly<{ count: number }>) {
  return (
    <div
      role="status"
      className="pointer-events-none fixed inset-x-0 bottom-6 z-20 flex justify-center lg:pl-60"
    >
      {count > 0 && (
        <span className="pointer-events-auto rounded-md shadow-float">
          <Button variant="primary" icon={ArrowUp} onClick={() => window.scrollTo({ top: 0 })}>
            {count === 1 ? '1 new request' : `${count} new requests`}
          </Button>
        </span>
      )}
    </div>
  );
}

function NothingYet() {
  const hasKey = useHasKey();
  return (
    <EmptyState
      icon={ListTree}
      title="No requests yet"
      action={hasKey === undefined ? null : <NextStep hasKey={hasKey} />}
    >
      Each request that you send to a model appears here within two seconds, with its cost and what happened
      to it.
    </EmptyState>
  );
}

/** The playground needs a key too. */
function NextStep({ hasKey }: Readonly<{ hasKey: boolean }>) {
  const { role } = useAccount();
  if (hasKey)
    return (
      <LinkButton to="/playground" variant="primary">
        Try the playground
      </LinkButton>
    );
  if (role !== 'owner')
    return <p className="text-ink-soft">There is no key yet. An owner of this account can create one.</p>;
  return (
    <LinkButton to="/keys" variant="primary">
      Create a key
    </LinkButton>
  );
}

function NothingFits() {
  return (
    <EmptyState icon={ListTree} title="No request fits these filters">
      Choose other filters, or clear them to see every request.
    </EmptyState>
  );
}
