/** The state of the providers on every node, recent failures, and a search for any request. */
import { Link } from '@tanstack/react-router';
import { CircleCheck, Plug } from 'lucide-react';
import type { Providers } from '../../../../src/console/operator-contract.ts';
import { Badge } from '../../../kit/badge.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Card } from '../../../kit/card.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { Dash, Time } from '../../../kit/figures.tsx';
import { Page } from '../../../kit/page.tsx';
import { EmptyState, ErrorState, SkeletonLines } from '../../../kit/states.tsx';
import { BreakableCode, type Column, Table } from '../../../kit/table.tsx';
import { FindRequest } from '../../requests/find-request.tsx';
import { useOperatorQuery } from '../operator-query.ts';
import { ProviderCard } from './provider-card.tsx';

export function OperatorProvidersPage() {
  const providers = useProviders();
  return (
    <Page title="Providers" description="The providers that this gateway calls, and how they perform.">
      {providers.data === undefined && providers.isError ? (
        <Card>
          <ErrorState error={providers.error} onRetry={providers.refetch} />
        </Card>
      ) : (
        <>
          <ProviderCards providers={providers.data} />
          <Card title="Find a request" description="Of any account, by the request ID in its response.">
            <FindRequest to="/operator/requests/$id" />
          </Card>
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
        <EmptyState icon={Plug} title="The catalogue has no providers">
          Add one to the catalogue file. It is loaded again as soon as it changes.
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
        request has ended. Requests that the provider rejected as invalid do not count as failed. Only
        circuits that have failed since their last success are listed.
      </p>
    </div>
  );
}

function Failures({ failures }: Readonly<{ failures: Providers['failures'] | undefined }>) {
  return (
    <Card
      title="Recent failures"
      description="The newest 50 failed attempts of the last 24 hours. Another provider may have served the request."
      isFlush
    >
      <Table
        caption="Recent failures"
        columns={failureColumns}
        rows={failures}
        rowKey={({ request_id: id, attempt }) => `${id} ${attempt}`}
        rowLink={({ request_id: id }) => ({ to: '/operator/requests/$id', params: { id } })}
        expectedRows={5}
        empty={
          <EmptyState icon={CircleCheck} title="No failures">
            All attempts of the last 24 hours succeeded.
          </EmptyState>
        }
      />
    </Card>
  );
}

type UnconfiguredProps = Readonly<{
  providers: Providers['data'];
  /** Whether no provider is configured. */
  isAlone: boolean;
}>;

/** The providers in the catalogue without an API key: often most of them, so only their names are listed. */
function Unconfigured({ providers, isAlone }: UnconfiguredProps) {
  if (providers.length === 0) return null;
  return (
    <Card
      title="Not configured"
      description="Their API keys are not set on this node, or cannot be used; its log says why. To use one, set its variable where the gateway starts, or in the file .env of a checkout, and restart the gateway."
    >
      {isAlone && (
        <div className="mb-4">
          <Callout tone="warn" title="No provider is configured">
            Until one is, all requests to models are rejected.
          </Callout>
        </div>
      )}
      <ul className="flex flex-wrap gap-2">
        {providers.map(({ id, name, key_variable: variable }) => (
          <li key={id} title={id}>
            <Badge>
              {name}
              {variable !== null && <code className="font-mono"> · {variable}</code>}
            </Badge>
          </li>
        ))}
      </ul>
    </Card>
  );
}

type Failure = Providers['failures'][number];

const failureColumns: readonly Column<Failure>[] = [
  {
    key: 'at',
    header: 'Time',
    isBare: true,
    // The link of the row, marked as one, because the account in the same row is a link too.
    cell: ({ at }) => (
      <span className={textLinkClass}>
        <Time at={at} style="brief" />
      </span>
    ),
  },
  {
    key: 'provider',
    header: 'Provider',
    cell: ({ provider, attempt }) => (
      <span title={`Attempt ${attempt} of the request`} className="wrap-break-word">
        {provider}
      </span>
    ),
  },
  { key: 'model', header: 'Model', cell: ({ model }) => <BreakableCode>{model}</BreakableCode> },
  {
    key: 'error',
    header: 'Error',
    cell: ({ error }) => <BreakableCode className="text-bad md:whitespace-nowrap">{error}</BreakableCode>,
  },
  {
    key: 'status',
    header: 'Status',
    align: 'right',
    cell: ({ upstream_status: status }) => status ?? <Dash />,
  },
  {
    key: 'account',
    header: 'Account',
    cell: ({ account }) => (
      <Link
        to="/operator/accounts"
        search={{ search: account.id }}
        className={`${textLinkClass} wrap-break-word`}
      >
        {account.name}
      </Link>
    ),
  },
];

const refreshMs = 5_000;

function useProviders() {
  return useOperatorQuery<Providers>(['providers'], { refetchInterval: refreshMs });
}
