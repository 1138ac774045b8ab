/** How the providers do on every node, what failed lately, and any request that somebody asks about. */
import { CircleCheck, Plug } from 'lucide-react';
import type { Providers } from '../../../../src/console/operator-contract.ts';
import { Card } from '../../../kit/card.tsx';
import { EmptyState } from '../../../kit/empty-state.tsx';
import { ErrorState } from '../../../kit/error-state.tsx';
import { Page } from '../../../kit/page.tsx';
import { SkeletonLines } from '../../../kit/skeleton.tsx';
import { Table } from '../../../kit/table.tsx';
import { Time } from '../../../kit/time.tsx';
import { failureColumns } from './failure-columns.tsx';
import { FindRequest } from './find-request.tsx';
import { ProviderCard } from './provider-card.tsx';
import { useProviders } from './queries.ts';
import { Unconfigured } from './unconfigured.tsx';

export function OperatorProvidersPage() {
  const providers = useProviders();
  return (
    <Page title="Providers" description="Whom this gateway asks, and how they have answered.">
      {providers.data === undefined && providers.isError ? (
        <Card>
          <ErrorState error={providers.error} onRetry={providers.refetch} />
        </Card>
      ) : (
        <>
          <ProviderCards providers={providers.data} />
          <FindRequest />
          <Failures failures={providers.data?.failures} />
        </>
      )}
    </Page>
  );
}

function ProviderCards({ providers }: Readonly<{ providers: Providers | undefined }>) {
  if (providers?.data.length === 0) {
    return (
      <Card>
        <EmptyState icon={Plug} title="The catalogue names no provider">
          Add one to the catalogue file. It is read again as soon as it changes.
        </EmptyState>
      </Card>
    );
  }
  const configured = providers?.data.filter((provider) => provider.is_configured);
  return (
    <div className="space-y-4">
      <div className="grid gap-4 md:grid-cols-2 xl:grid-cols-3">
        {configured === undefined
          ? ['first', 'second'].map((place) => (
              <Card key={place}>
                <SkeletonLines count={9} />
              </Card>
            ))
          : configured.map((provider) => <ProviderCard key={provider.id} provider={provider} />)}
      </div>
      <Unconfigured
        providers={providers?.data.filter((provider) => !provider.is_configured) ?? []}
        isAlone={configured?.length === 0}
      />
      <p className="text-xs text-ink-faint">
        Attempts are counted since{' '}
        {providers === undefined ? '…' : <Time at={providers.attempts_since} style="moment" />}, once their
        request has ended. Circuits are those that a node knows something against.
      </p>
    </div>
  );
}

function Failures({ failures }: Readonly<{ failures: Providers['failures'] | undefined }>) {
  return (
    <Card
      title="Recent failures"
      description="Attempts that failed within 24 hours, the newest 50. Customers may have been answered by another provider."
      isFlush
    >
      <Table
        caption="Recent failures"
        columns={failureColumns}
        rows={failures}
        rowKey={({ request_id: id, attempt }) => `${id} ${attempt}`}
        rowLink={({ request_id: id }) => ({ to: '/operator/generations/$id', params: { id } })}
        expectedRows={5}
        empty={
          <EmptyState icon={CircleCheck} title="Nothing failed">
            Every attempt of the last 24 hours was answered.
          </EmptyState>
        }
      />
    </Card>
  );
}
