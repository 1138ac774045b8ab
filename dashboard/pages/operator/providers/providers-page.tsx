/** How the providers do on every node, what failed lately, and any request that somebody asks about. */
import { Link } from '@tanstack/react-router';
import { CircleCheck, Plug } from 'lucide-react';
import type { Providers } from '../../../../src/console/operator-contract.ts';
import { Badge } from '../../../kit/badge.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Card } from '../../../kit/card.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { Time } from '../../../kit/figures.tsx';
import { Page } from '../../../kit/page.tsx';
import { EmptyState, ErrorState, SkeletonLines } from '../../../kit/states.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
import { useOperatorQuery } from '../operator-query.ts';
import { FindRequest } from './find-request.tsx';
import { ProviderCard } from './provider-card.tsx';

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

type UnconfiguredProps = Readonly<{
  providers: Providers['data'];
  /** Whether there is no other provider at all. */
  isAlone: boolean;
}>;

/** The providers that the catalogue names and nobody has given a key for: often most of them, and little to say of each. */
export function Unconfigured({ providers, isAlone }: UnconfiguredProps) {
  if (providers.length === 0) return null;
  return (
    <Card
      title="Not configured"
      description="Their keys are not set on this node. To use one, set its key in the environment of the gateway and start it again."
    >
      {isAlone && (
        <div className="mb-4">
          <Callout tone="warn" title="No provider has its key">
            Until one has, every request to a model is refused.
          </Callout>
        </div>
      )}
      <ul className="flex flex-wrap gap-2">
        {providers.map(({ id, name }) => (
          <li key={id} title={id}>
            <Badge>{name}</Badge>
          </li>
        ))}
      </ul>
    </Card>
  );
}

type Failure = Providers['failures'][number];

/** The first column leads to the request. */
export const failureColumns: readonly Column<Failure>[] = [
  { key: 'at', header: 'Time', isBare: true, cell: ({ at }) => <Time at={at} style="exact" /> },
  {
    key: 'provider',
    header: 'Provider',
    cell: ({ provider, attempt }) => <span title={`Attempt ${attempt} of the request`}>{provider}</span>,
  },
  {
    key: 'model',
    header: 'Model',
    cell: ({ model }) => <code className="font-mono text-[0.8125rem]">{model}</code>,
  },
  {
    key: 'error',
    header: 'Error',
    cell: ({ error }) => <code className="font-mono text-[0.8125rem] text-bad">{error}</code>,
  },
  {
    key: 'status',
    header: 'Status',
    align: 'right',
    cell: ({ upstream_status: status }) => status ?? <span className="text-ink-faint">–</span>,
  },
  {
    key: 'account',
    header: 'Account',
    cell: ({ account }) => (
      <Link to="/operator/accounts" search={{ search: account.id }} className={textLinkClass}>
        {account.name}
      </Link>
    ),
  },
];

const liveEveryMs = 5_000;

export function useProviders() {
  return useOperatorQuery<Providers>(['providers'], { refetchInterval: liveEveryMs });
}
