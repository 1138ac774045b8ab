/** A request as a page of its own, for links that people send each other. */
import { useParams } from '@tanstack/react-router';
import { useSearchParameters } from '../../address.ts';
import { StatusBadge } from '../../kit/badge.tsx';
import { RequestId } from '../../kit/copy-button.tsx';
import { UtcClock } from '../../kit/figures.tsx';
import { Page } from '../../kit/page.tsx';
import { Outcome } from './outcome.tsx';
import { useRequest } from './queries.ts';
import { type Extras, nameOfRequest, RequestContent } from './request-content.tsx';
import { type Scope, ScopeContext, useAccountScope } from './scope.ts';

export const customerExtras: Extras = { Notes: Outcome };

export function RequestPage() {
  return <RequestFrame scope={useAccountScope()} extras={customerExtras} />;
}

export function RequestFrame({ scope, extras }: Readonly<{ scope: Scope; extras: Extras }>) {
  const { id = '' } = useParams({ strict: false });
  const query = useRequest(id, scope);
  const { data } = query;
  const name = nameOfRequest(data);
  // The panel that leads here says by which clock its list is read.
  const isUtc = useSearchParameters().tz === 'utc';
  return (
    <ScopeContext value={scope}>
      <UtcClock value={isUtc}>
        <Page
          title={name}
          heading={
            <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-1">
              {name}
              {data !== undefined && <StatusBadge status={data.request.status} />}
            </span>
          }
          description={
            <>
              <span className="sr-only">Request ID </span>
              <RequestId id={id} className="text-[0.8125rem]" />
            </>
          }
          back={{ to: scope.list, search: isUtc ? { tz: 'utc' } : {}, label: 'Requests' }}
          actions={
            data?.kind === 'generation' && extras.Actions !== undefined ? (
              <extras.Actions generation={data.request} />
            ) : undefined
          }
        >
          <RequestContent query={query} extras={extras} />
        </Page>
      </UtcClock>
    </ScopeContext>
  );
}
