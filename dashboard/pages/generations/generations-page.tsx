import { useSearch } from '@tanstack/react-router';
import { ArrowUp, ListTree } from 'lucide-react';
import { ApiProblem } from '../../api/problem.ts';
import { Button, LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { EmptyState } from '../../kit/empty-state.tsx';
import { ErrorState } from '../../kit/error-state.tsx';
import { Page } from '../../kit/page.tsx';
import { Pager } from '../../kit/pager.tsx';
import { Table } from '../../kit/table.tsx';
import { useAddressCursors } from '../../kit/use-address-cursors.ts';
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
  const isLost = generations.error instanceof ApiProblem && generations.error.code === 'invalid_cursor';
  return (
    <Page
      title="Generations"
      description="Every request to a model, the newest first."
      actions={<FindById />}
    >
      <Card isFlush>
        <Filters filter={filter} rows={fetched} />
        {fetched === undefined && generations.isError ? (
          isLost ? (
            <LostPage goToStart={cursors.goToStart} />
          ) : (
            <ErrorState error={generations.error} onRetry={generations.refetch} />
          )
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
  return (
    <EmptyState
      icon={ListTree}
      title="No requests yet"
      action={
        <>
          <LinkButton to="/keys" variant="primary">
            Make a key
          </LinkButton>
          <LinkButton to="/playground">Try the playground</LinkButton>
        </>
      }
    >
      Each request that you send to a model appears here within two seconds, with its cost and what happened
      to it.
    </EmptyState>
  );
}

function NothingFits() {
  return (
    <EmptyState icon={ListTree} title="No request fits these filters">
      Choose other filters, or clear them to see every request.
    </EmptyState>
  );
}

function LostPage({ goToStart }: Readonly<{ goToStart: () => void }>) {
  return (
    <EmptyState
      icon={ListTree}
      title="This page of the list is no longer there"
      action={<Button onClick={goToStart}>To the newest</Button>}
    >
      The link to it is too old, or belongs to other filters.
    </EmptyState>
  );
}
